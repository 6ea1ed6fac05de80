<?php
/**
 * Protects boxes from content filters.
 *
 * WordPress filters the whole content after blocks and shortcodes: it curls quotes, runs shortcodes in the output of
 * blocks, turns ":)" into images and adds attributes to images. While such a filter runs, an empty placeholder element
 * replaces the box. The last filter replaces the placeholder by the box.
 *
 * @package Vitrine
 */

defined( 'ABSPATH' ) || exit;

/** Filters that change their content. Each ends by replacing the placeholders. */
const VITRINE_CONTENT_FILTERS = array( 'the_content', 'widget_text', 'widget_text_content', 'widget_block_content' );

/**
 * Returns the boxes of this page view by placeholder.
 *
 * @param string|null $placeholder Placeholder to add.
 * @param string      $html        Its box.
 * @return string[]
 */
function vitrine_placeholders( $placeholder = null, $html = '' ) {
	static $placeholders = array();
	if ( null !== $placeholder ) {
		$placeholders[ $placeholder ] = $html;
	}
	return $placeholders;
}

/**
 * Whether a block theme renders the page, and filters it again as a whole.
 *
 * @param bool|null $is_whole_page New value, if not null.
 * @return bool
 */
function vitrine_is_whole_page_filtered( $is_whole_page = null ) {
	static $is_filtered = false;
	if ( null !== $is_whole_page ) {
		$is_filtered = $is_whole_page;
	}
	return $is_filtered;
}

/**
 * Returns the nesting depth of the running filters.
 *
 * @return int
 */
function vitrine_filter_depth() {
	global $wp_current_filter;
	return count( array_intersect( (array) $wp_current_filter, VITRINE_CONTENT_FILTERS ) );
}

/**
 * Returns the box, or a placeholder if a filter would still change it.
 *
 * @param string $html A box.
 * @return string
 */
function vitrine_insert_placeholder( $html ) {
	if ( 0 === vitrine_filter_depth() && ! vitrine_is_whole_page_filtered() ) {
		return $html;
	}
	$placeholder = '<div data-vitrine-place="' . wp_generate_password( 20, false ) . '"></div>';
	vitrine_placeholders( $placeholder, $html );
	return $placeholder;
}

/**
 * Replaces placeholders by boxes and removes the paragraphs that WordPress put around them.
 *
 * @param string $content Content with placeholders.
 * @return string
 */
function vitrine_replace_placeholders( $content ) {
	$placeholders = vitrine_placeholders();
	if ( ! $placeholders || ! is_string( $content ) || false === strpos( $content, '<div data-vitrine-place=' ) ) {
		return $content;
	}
	$unwrapped = preg_replace( '#<p(?: [^>]*)?>\s*(<div data-vitrine-place="\w+"></div>)\s*</p>#', '$1', $content );
	return strtr( null === $unwrapped ? $content : $unwrapped, $placeholders );
}

/**
 * Replaces placeholders at the end of the outermost filter.
 *
 * @param string $content Filtered content.
 * @return string
 */
function vitrine_filter_content( $content ) {
	return vitrine_is_whole_page_filtered() || vitrine_filter_depth() > 1 ? $content : vitrine_replace_placeholders( $content );
}
foreach ( VITRINE_CONTENT_FILTERS as $vitrine_filter ) {
	add_filter( $vitrine_filter, 'vitrine_filter_content', PHP_INT_MAX );
}
unset( $vitrine_filter );

/**
 * Replaces the placeholders in the page of a block theme when the output buffer is flushed.
 *
 * @param string $template File that renders the page.
 * @return string The same file.
 */
function vitrine_buffer_template( $template ) {
	if ( ABSPATH . WPINC . '/template-canvas.php' === $template ) {
		vitrine_is_whole_page_filtered( true );
		ob_start( 'vitrine_replace_placeholders' );
	}
	return $template;
}
add_filter( 'template_include', 'vitrine_buffer_template', PHP_INT_MAX );
