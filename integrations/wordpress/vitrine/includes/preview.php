<?php
/**
 * Notes for editors in place of an empty box. Readers do not see them.
 *
 * @package Vitrine
 */

defined( 'ABSPATH' ) || exit;

/**
 * Whether this request is the editor's preview of one of the plugin's blocks.
 *
 * @param bool|null $new_value New value, if not null.
 * @return bool
 */
function vitrine_is_block_preview( $new_value = null ) {
	static $is_preview = false;
	if ( null !== $new_value ) {
		$is_preview = $new_value;
	}
	return $is_preview;
}

/**
 * Records whether a REST request is a preview.
 *
 * @param mixed           $response Returned unchanged.
 * @param array           $handler  Unused.
 * @param WP_REST_Request $request  The request.
 * @return mixed
 */
function vitrine_begin_preview( $response, $handler, $request ) {
	vitrine_is_block_preview( 0 === strpos( $request->get_route(), '/wp/v2/block-renderer/vitrine/' ) );
	return $response;
}
add_filter( 'rest_request_before_callbacks', 'vitrine_begin_preview', 10, 3 );

/**
 * Records the end of a preview.
 *
 * @param mixed $response Returned unchanged.
 * @return mixed
 */
function vitrine_end_preview( $response ) {
	vitrine_is_block_preview( false );
	return $response;
}
add_filter( 'rest_request_after_callbacks', 'vitrine_end_preview' );

/**
 * Renders a note for an editor in the preview of a block or a post.
 *
 * @param string $note Why there is nothing to show.
 * @return string Empty for other users.
 */
function vitrine_preview_note( $note ) {
	if ( ! ( vitrine_is_block_preview() || is_preview() ) || ! current_user_can( 'edit_posts' ) ) {
		return '';
	}
	$reason = '' === $note ? __( 'There is nothing to show.', 'vitrine' ) : $note;
	/* translators: %s: why there is nothing to show. */
	$line = sprintf( __( 'Vitrine: %s Readers see nothing here.', 'vitrine' ), $reason );
	return '<p class="vitrine-editor-note components-notice is-warning">' . esc_html( $line ) . '</p>';
}
