<?php
/**
 * Keeps boxes as they came.
 *
 * WordPress goes over the whole content after blocks and shortcodes: it curls quotes, runs shortcodes in the output of
 * blocks, turns ":)" into pictures and adds attributes to images. So while such a filter runs, a box is an empty element
 * with a name of its own, and becomes the box behind all filters.
 *
 * @package Vitrine
 */

defined( 'ABSPATH' ) || exit;

/** Filters that change what they are given, each with a last step that puts boxes into their places. */
const VITRINE_CONTENT_FILTERS = array( 'the_content', 'widget_text', 'widget_text_content', 'widget_block_content' );

/**
 * The boxes of this page view, by the element that holds their place.
 *
 * @param string|null $place Element of one more.
 * @param string      $html  Its box.
 * @return string[]
 */
function vitrine_places( $place = null, $html = '' ) {
	static $places = array();
	if ( null !== $place ) {
		$places[ $place ] = $html;
	}
	return $places;
}

/**
 * Whether the page is made by a block theme, which filters it once more as a whole.
 *
 * @param bool|null $is_whole_page Said once, when it is known.
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
 * How many of the filters run now, one in the other.
 *
 * @return int
 */
function vitrine_filter_depth() {
	global $wp_current_filter;
	return count( array_intersect( (array) $wp_current_filter, VITRINE_CONTENT_FILTERS ) );
}

/**
 * Gives the box, or an element in its place where something would still change it.
 *
 * @param string $html A box.
 * @return string
 */
function vitrine_hold_place( $html ) {
	if ( 0 === vitrine_filter_depth() && ! vitrine_is_whole_page_filtered() ) {
		return $html;
	}
	$place = '<div data-vitrine-place="' . wp_generate_password( 20, false ) . '"></div>';
	vitrine_places( $place, $html );
	return $place;
}

/**
 * Puts boxes into their places. A paragraph that WordPress made around a box goes.
 *
 * @param string $content Content with elements in the places of boxes.
 * @return string
 */
function vitrine_fill_places( $content ) {
	$places = vitrine_places();
	if ( ! $places || ! is_string( $content ) || false === strpos( $content, '<div data-vitrine-place=' ) ) {
		return $content;
	}
	$unwrapped = preg_replace( '#<p(?: [^>]*)?>\s*(<div data-vitrine-place="\w+"></div>)\s*</p>#', '$1', $content );
	return strtr( null === $unwrapped ? $content : $unwrapped, $places );
}

/**
 * The last step of each filter, if it is the outermost one.
 *
 * @param string $content Filtered content.
 * @return string
 */
function vitrine_finish_content( $content ) {
	return vitrine_is_whole_page_filtered() || vitrine_filter_depth() > 1 ? $content : vitrine_fill_places( $content );
}
foreach ( VITRINE_CONTENT_FILTERS as $vitrine_filter ) {
	add_filter( $vitrine_filter, 'vitrine_finish_content', PHP_INT_MAX );
}
unset( $vitrine_filter );

/**
 * Fills the places of a block theme's page when it leaves.
 *
 * @param string $template File that makes the page.
 * @return string The same file.
 */
function vitrine_watch_template( $template ) {
	if ( ABSPATH . WPINC . '/template-canvas.php' === $template ) {
		vitrine_is_whole_page_filtered( true );
		ob_start( 'vitrine_fill_places' );
	}
	return $template;
}
add_filter( 'template_include', 'vitrine_watch_template', PHP_INT_MAX );
