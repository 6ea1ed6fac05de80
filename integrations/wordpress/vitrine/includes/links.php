<?php
/**
 * Turns the plain link to an embed, on a line of its own, into a box, rendered on the server like a shortcode.
 *
 * WordPress runs embed handlers before oEmbed providers, so a visitor never waits for an oEmbed request, and nothing is
 * stored with the post. The provider is registered for the preview in the editor.
 *
 * @package Vitrine
 */

defined( 'ABSPATH' ) || exit;

/**
 * Returns a pattern for the server's address with either scheme.
 *
 * @return string
 */
function vitrine_server_pattern() {
	return 'https?' . preg_quote( preg_replace( '/^https?/', '', vitrine_setting( 'server' ) ), '#' );
}

/**
 * Returns a pattern for embeds of this server. Groups: channel, widget, GTINs, query; widget and GTINs are empty for deals.
 *
 * @return string
 */
function vitrine_link_pattern() {
	return '#^' . vitrine_server_pattern() . '/embeds/([0-9a-f-]{36})/(?:deals|(where-to-buy|picks)/([^/?\#\s]+))/?(?:\?([^\#]*))?(?:\#.*)?$#i';
}

/**
 * Registers handler and provider if a server is set.
 */
function vitrine_register_links() {
	if ( '' !== vitrine_setting( 'server' ) ) {
		wp_embed_register_handler( 'vitrine', vitrine_link_pattern(), 'vitrine_render_link', 5 );
		wp_oembed_add_provider( '#^' . vitrine_server_pattern() . '/embeds/.+#i', vitrine_setting( 'server' ) . '/oembed', true );
	}
}
add_action( 'init', 'vitrine_register_links' );

/**
 * Converts a query to attributes of a shortcode. Values of repeated options are joined by "|".
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
 * Renders the box of a plain link.
 *
 * @param string[] $found Matches of the pattern.
 * @return string A placeholder even for an empty box, so that the paragraph around it is removed.
 */
function vitrine_render_link( $found ) {
	$attributes            = vitrine_parse_query( isset( $found[4] ) ? $found[4] : '' );
	$attributes['channel'] = $found[1];
	if ( empty( $found[3] ) ) {
		return vitrine_deals( $attributes );
	}
	$attributes['gtin']  = rawurldecode( $found[3] );
	$attributes['gtins'] = $attributes['gtin'];
	return VITRINE_PICKS === strtolower( $found[2] ) ? vitrine_picks( $attributes ) : vitrine_where_to_buy( $attributes );
}
