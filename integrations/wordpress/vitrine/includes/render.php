<?php
/**
 * Shortcodes and blocks.
 *
 * @package Vitrine
 */

defined( 'ABSPATH' ) || exit;

/**
 * Renders a widget as HTML.
 *
 * @param string $widget     `where-to-buy`, `picks` or `deals`.
 * @param array  $attributes Attributes of the shortcode, block or link.
 * @return string
 */
function vitrine_render( $widget, $attributes ) {
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
 * Renders a where-to-buy box for the shortcode and the block.
 *
 * @param array|string $attributes Options by name.
 * @return string
 */
function vitrine_where_to_buy( $attributes ) {
	return vitrine_insert_box( VITRINE_WHERE_TO_BUY, (array) $attributes );
}

/**
 * Renders a round-up for the shortcode and the block.
 *
 * @param array|string $attributes Options by name.
 * @return string
 */
function vitrine_picks( $attributes ) {
	return vitrine_insert_box( VITRINE_PICKS, (array) $attributes );
}

/**
 * Renders a deal grid for the shortcode and the block.
 *
 * @param array|string $attributes Options by name.
 * @return string
 */
function vitrine_deals( $attributes ) {
	return vitrine_insert_box( VITRINE_DEALS, (array) $attributes );
}

/**
 * Registers the shortcodes, and the blocks with their editor script.
 */
function vitrine_register() {
	add_shortcode( 'vitrine', 'vitrine_where_to_buy' );
	add_shortcode( 'vitrine_picks', 'vitrine_picks' );
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
	register_block_type( dirname( VITRINE_FILE ) . '/blocks/picks', array( 'render_callback' => 'vitrine_picks' ) );
	register_block_type( dirname( VITRINE_FILE ) . '/blocks/deals', array( 'render_callback' => 'vitrine_deals' ) );
}
add_action( 'init', 'vitrine_register' );
