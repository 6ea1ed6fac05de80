<?php
/**
 * A plain link to an embed, on a line of its own, is the box of that address, made on the server like the shortcode's.
 *
 * A handler comes before every oEmbed provider: WordPress asks the server for no oEmbed answer while a visitor waits, and
 * stores nothing with the post. The provider is for the preview of the editor, which asks for one first.
 *
 * @package Vitrine
 */

defined( 'ABSPATH' ) || exit;

/**
 * The server's address as part of a pattern, with either scheme.
 *
 * @return string
 */
function vitrine_server_pattern() {
	return 'https?' . preg_quote( preg_replace( '/^https?/', '', vitrine_setting( 'server' ) ), '#' );
}

/**
 * Pattern of an address of this server's embeds: channel, GTIN, query.
 *
 * @return string
 */
function vitrine_link_pattern() {
	return '#^' . vitrine_server_pattern() . '/embeds/([0-9a-f-]{36})/(?:deals|where-to-buy/([^/?\#\s]+))/?(?:\?([^\#]*))?(?:\#.*)?$#i';
}

/**
 * Registers handler and provider, once there is a server.
 */
function vitrine_register_links() {
	if ( '' !== vitrine_setting( 'server' ) ) {
		wp_embed_register_handler( 'vitrine', vitrine_link_pattern(), 'vitrine_render_link', 5 );
		wp_oembed_add_provider( '#^' . vitrine_server_pattern() . '/embeds/.+#i', vitrine_setting( 'server' ) . '/oembed', true );
	}
}
add_action( 'init', 'vitrine_register_links' );

/**
 * Attributes as a shortcode would have them, of the query of an address. Repeated options are joined by a bar.
 *
 * @param string $query Query without its question mark.
 * @return string[]
 */
function vitrine_parse_query( $query ) {
	$attributes = array();
	foreach ( explode( '&', $query ) as $pair ) {
		list( $name, $value ) = array_map( 'urldecode', array_pad( explode( '=', $pair, 2 ), 2, '' ) );
		$is_more              = isset( $attributes[ $name ] ) && in_array( $name, VITRINE_REPEATED_OPTIONS, true );
		$attributes[ $name ]  = $is_more ? $attributes[ $name ] . '|' . $value : $value;
	}
	return $attributes;
}

/**
 * The box of a plain link.
 *
 * @param string[] $found What the pattern found.
 * @return string An element in its place even when it is empty, so that the paragraph around it goes.
 */
function vitrine_render_link( $found ) {
	$attributes            = vitrine_parse_query( isset( $found[3] ) ? $found[3] : '' );
	$attributes['channel'] = $found[1];
	if ( empty( $found[2] ) ) {
		return vitrine_deals( $attributes );
	}
	$attributes['gtin'] = rawurldecode( $found[2] );
	return vitrine_where_to_buy( $attributes );
}

/**
 * Leaves out the figure that the embed block draws around a link whose box is hidden.
 *
 * @param string $content HTML of the block.
 * @param array  $block   The block.
 * @return string
 */
function vitrine_fold_embed_block( $content, $block ) {
	$url     = isset( $block['attrs']['url'] ) ? str_replace( '&amp;', '&', (string) $block['attrs']['url'] ) : '';
	$is_ours = '' !== vitrine_setting( 'server' ) && preg_match( vitrine_link_pattern(), $url );
	if ( ! $is_ours ) {
		return $content;
	}
	return '' === trim( wp_strip_all_tags( vitrine_fill_places( $content ) ) ) ? '' : $content;
}
add_filter( 'render_block_core/embed', 'vitrine_fold_embed_block', 10, 2 );
