<?php
/**
 * What editors see where there is nothing to show. Readers see none of it.
 *
 * @package Vitrine
 */

defined( 'ABSPATH' ) || exit;

/**
 * Whether the editor asks for the preview of one of our blocks.
 *
 * @param bool|null $is_asked Said by the REST interface.
 * @return bool
 */
function vitrine_is_block_preview( $is_asked = null ) {
	static $is_preview = false;
	if ( null !== $is_asked ) {
		$is_preview = $is_asked;
	}
	return $is_preview;
}

/**
 * Notes that a REST request is such a preview.
 *
 * @param mixed           $response Passed on.
 * @param array           $handler  Not used.
 * @param WP_REST_Request $request  The request.
 * @return mixed
 */
function vitrine_watch_preview( $response, $handler, $request ) {
	vitrine_is_block_preview( 0 === strpos( $request->get_route(), '/wp/v2/block-renderer/vitrine/' ) );
	return $response;
}
add_filter( 'rest_request_before_callbacks', 'vitrine_watch_preview', 10, 3 );

/**
 * Notes that it is over.
 *
 * @param mixed $response Passed on.
 * @return mixed
 */
function vitrine_leave_preview( $response ) {
	vitrine_is_block_preview( false );
	return $response;
}
add_filter( 'rest_request_after_callbacks', 'vitrine_leave_preview' );

/**
 * Words for an editor in the preview of a block or of a post.
 *
 * @param string $note Why there is nothing to show.
 * @return string Empty for everybody else.
 */
function vitrine_preview_note( $note ) {
	if ( ! ( vitrine_is_block_preview() || is_preview() ) || ! current_user_can( 'edit_posts' ) ) {
		return '';
	}
	$words = '' === $note ? __( 'There is nothing to show.', 'vitrine' ) : $note;
	/* translators: %s: why there is nothing to show. */
	$line = sprintf( __( 'Vitrine: %s Readers see nothing here.', 'vitrine' ), $words );
	return '<p class="vitrine-editor-note components-notice is-warning">' . esc_html( $line ) . '</p>';
}
