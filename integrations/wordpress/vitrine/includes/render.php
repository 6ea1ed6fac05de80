<?php
/**
 * Shortcodes and blocks: two names for the same box.
 *
 * @package Vitrine
 */

defined( 'ABSPATH' ) || exit;

/**
 * A widget as HTML.
 *
 * Feeds and excerpts get none: a feed reader keeps an entry for months, with prices of the day on which it came, and
 * without the style sheet; an excerpt would be the words of the box without its links.
 *
 * @param string $widget     Which widget.
 * @param array  $attributes What the shortcode, block or link brought.
 * @return string
 */
function vitrine_render( $widget, $attributes ) {
	if ( is_feed() || doing_filter( 'get_the_excerpt' ) ) {
		return '';
	}
	$address = vitrine_build_address( $widget, $attributes );
	$box     = is_wp_error( $address )
		? array(
			'html' => '',
			'note' => $address->get_error_message(),
		)
		: vitrine_get_box( $address );
	return '' === $box['html'] ? vitrine_preview_note( $box['note'] ) : $box['html'];
}

/**
 * A where-to-buy box: shortcode and block.
 *
 * @param array|string $attributes Options by their names.
 * @return string
 */
function vitrine_where_to_buy( $attributes ) {
	return vitrine_hold_place( vitrine_render( VITRINE_WHERE_TO_BUY, (array) $attributes ) );
}

/**
 * A deal grid: shortcode and block.
 *
 * @param array|string $attributes Options by their names.
 * @return string
 */
function vitrine_deals( $attributes ) {
	return vitrine_hold_place( vitrine_render( VITRINE_DEALS, (array) $attributes ) );
}

/**
 * Registers the shortcodes, and the blocks with their one script for the editor.
 */
function vitrine_register() {
	add_shortcode( 'vitrine', 'vitrine_where_to_buy' );
	add_shortcode( 'vitrine_deals', 'vitrine_deals' );
	wp_register_script(
		'vitrine-blocks',
		plugins_url( 'assets/blocks.js', VITRINE_FILE ),
		array( 'wp-blocks', 'wp-element', 'wp-block-editor', 'wp-components', 'wp-server-side-render', 'wp-i18n' ),
		VITRINE_VERSION,
		true
	);
	wp_set_script_translations( 'vitrine-blocks', 'vitrine' );
	register_block_type( dirname( VITRINE_FILE ) . '/blocks/where-to-buy', array( 'render_callback' => 'vitrine_where_to_buy' ) );
	register_block_type( dirname( VITRINE_FILE ) . '/blocks/deals', array( 'render_callback' => 'vitrine_deals' ) );
}
add_action( 'init', 'vitrine_register' );
