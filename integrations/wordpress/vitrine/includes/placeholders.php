<?php
/**
 * Placeholders: empty elements that stand for boxes while WordPress filters content.
 *
 * WordPress filters the whole content after blocks and shortcodes: it curls quotes, runs shortcodes in the output of
 * blocks, turns ":)" into images and adds attributes to images. So boxes are rendered after that: in pages when the
 * output buffer is flushed, elsewhere by the last filter. Code that shortens or stores content gets the placeholder.
 *
 * A placeholder has all that is needed to render its box, because caches of page builders show it in later page views.
 *
 * @package Vitrine
 */

defined( 'ABSPATH' ) || exit;

/** Filters that change their content. Each ends by replacing the placeholders. */
const VITRINE_CONTENT_FILTERS = array( 'the_content', 'widget_text', 'widget_text_content', 'widget_block_content' );

/** Pattern of a placeholder. Group: its code. */
const VITRINE_PLACEHOLDER = '<div data-vitrine-place="([^"<>]*)"></div>';

/**
 * Whether the page is in an output buffer that replaces placeholders.
 *
 * @return bool
 */
function vitrine_is_buffered() {
	return in_array( 'vitrine_replace_placeholders', ob_list_handlers(), true );
}

/**
 * Whether placeholders are replaced later: by an outer filter, or in the buffer of the page.
 *
 * @param int $depth Number of running filters that do not count.
 * @return bool
 */
function vitrine_is_replaced_later( $depth ) {
	global $wp_current_filter;
	$running = array_intersect( (array) $wp_current_filter, VITRINE_CONTENT_FILTERS );
	return count( $running ) > $depth || ( vitrine_is_buffered() && 'page' === vitrine_context() );
}

/**
 * Returns the box of a widget, or a placeholder if filters would change the box.
 *
 * @param string $widget     `where-to-buy`, `picks` or `deals`.
 * @param array  $attributes Attributes of the shortcode, block or link.
 * @return string
 */
function vitrine_insert_box( $widget, $attributes ) {
	$attributes['sub'] = vitrine_placement( $attributes );
	// Content filters change no hexadecimal digits. The signature stops visitors from writing placeholders.
	$code        = bin2hex( wp_json_encode( array( get_current_blog_id(), $widget, $attributes ) ) );
	$placeholder = '<div data-vitrine-place="' . $code . '-' . wp_hash( 'vitrine ' . $code ) . '"></div>';
	return vitrine_is_replaced_later( 0 ) ? $placeholder : vitrine_replace_placeholders( $placeholder );
}

/**
 * Renders the box of a placeholder once for each request.
 *
 * @param string $signed_code Code of the placeholder.
 * @return string Empty if the code is invalid, or if no boxes are shown here.
 */
function vitrine_render_placeholder( $signed_code ) {
	static $boxes             = array();
	list( $code, $signature ) = explode( '-', $signed_code . '-' );
	if ( ! hash_equals( wp_hash( 'vitrine ' . $code ), $signature ) || ! vitrine_shows_boxes() ) {
		return '';
	}
	if ( ! isset( $boxes[ $code ] ) ) {
		list( $site_id, $widget, $attributes ) = json_decode( hex2bin( $code ), true );
		// A page of a network can show posts of its other sites, which have their own settings.
		$is_other_site = is_multisite() && get_current_blog_id() !== $site_id;
		if ( $is_other_site ) {
			switch_to_blog( $site_id );
		}
		$boxes[ $code ] = vitrine_render( $widget, $attributes );
		if ( $is_other_site ) {
			restore_current_blog();
		}
	}
	return $boxes[ $code ];
}

/**
 * Replaces placeholders by boxes. Removes the paragraphs that WordPress put around them, and the figures of hidden boxes.
 *
 * @param string $content Content with placeholders.
 * @return string
 */
function vitrine_replace_placeholders( $content ) {
	if ( ! is_string( $content ) || false === strpos( $content, '<div data-vitrine-place=' ) ) {
		return $content;
	}
	$unwrapped = preg_replace( '#<p(?: [^>]*)?>\s*(' . VITRINE_PLACEHOLDER . ')\s*</p>#', '$1', $content );
	$replaced  = preg_replace_callback(
		'#(<figure[^>]*>\s*<div[^>]*>\s*|)' . VITRINE_PLACEHOLDER . '(\s*</div>\s*</figure>|)#',
		function ( $found ) {
			list( , $before, $code, $after ) = $found;
			$box                             = vitrine_render_placeholder( $code );
			return '' === $box && '' !== $before && '' !== $after ? '' : $before . $box . $after;
		},
		null === $unwrapped ? $content : $unwrapped
	);
	return null === $replaced ? $content : $replaced;
}

/**
 * Replaces placeholders at the end of the outermost filter.
 *
 * @param string $content Filtered content.
 * @return string
 */
function vitrine_filter_content( $content ) {
	return vitrine_is_replaced_later( 1 ) ? $content : vitrine_replace_placeholders( $content );
}
foreach ( VITRINE_CONTENT_FILTERS as $vitrine_filter ) {
	add_filter( $vitrine_filter, 'vitrine_filter_content', PHP_INT_MAX );
}
unset( $vitrine_filter );

/**
 * Replaces the placeholders of a page when its output buffer is flushed.
 *
 * @param string $template File that renders the page.
 * @return string The same file.
 */
function vitrine_buffer_template( $template ) {
	ob_start( 'vitrine_replace_placeholders' );
	return $template;
}
add_filter( 'template_include', 'vitrine_buffer_template', PHP_INT_MAX );

/**
 * Renders the boxes of a page before its buffer is flushed. During the flush, PHP stops if code opens another buffer, as a
 * hook for requests may do.
 */
function vitrine_render_buffered() {
	if ( vitrine_is_buffered() ) {
		vitrine_replace_placeholders( ob_get_contents() );
	}
}
add_action( 'shutdown', 'vitrine_render_buffered', 0 );
