<?php
/**
 * The id of the placement: which post shows a box. The server can add it to the links, and counts by it.
 *
 * @package Vitrine
 */

defined( 'ABSPATH' ) || exit;

/**
 * Returns the id of the placement: that of the author, otherwise `p` and the id of the post.
 *
 * @param array $attributes Attributes of the shortcode, block or link.
 * @return string Empty for none.
 */
function vitrine_placement( $attributes ) {
	$named = vitrine_attribute( $attributes, 'sub' );
	if ( '' !== $named ) {
		return $named;
	}
	$post_id = vitrine_is_in_post() ? (int) get_the_ID() : 0;
	/**
	 * Filters the id of the placement. Return an empty string for none.
	 *
	 * @param string $sub     1 to 32 letters of A to Z, digits, hyphens and underscores.
	 * @param int    $post_id The post; 0 outside of a post.
	 */
	return (string) apply_filters( 'vitrine_sub', 0 === $post_id ? '' : 'p' . $post_id, $post_id );
}

/**
 * Whether the box is in the content of a post. Sidebars, footers and template parts are not, even on the page of a post: a
 * placement there would fetch and store the same box again for each post. A preview in the editor is no placement.
 *
 * @return bool
 */
function vitrine_is_in_post() {
	return ! vitrine_is_block_preview() && doing_filter( 'the_content' );
}
