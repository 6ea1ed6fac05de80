<?php
/**
 * Builds the address of a fragment from the attributes of a shortcode, a block or a link.
 *
 * @package Vitrine
 */

defined( 'ABSPATH' ) || exit;

const VITRINE_WHERE_TO_BUY = 'where-to-buy';
const VITRINE_DEALS        = 'deals';

/** Options that accept several values, separated by "|". */
const VITRINE_REPEATED_OPTIONS = array( 'merchant', 'exclude' );

/**
 * Lists the options of a widget in the order in which requests send them.
 *
 * @param string $widget `where-to-buy` or `deals`.
 * @return string[]
 */
function vitrine_option_names( $widget ) {
	$common = array( 'theme', 'accent', 'locale', 'currency', 'stock', 'merchant', 'exclude', 'isolate', 'css', 'head', 'heading', 'layout', 'limit' );
	$own    = VITRINE_DEALS === $widget
		? array( 'page', 'sort', 'evidence', 'min_discount', 'max_price', 'brand', 'q' )
		: array( 'history', 'markup' );
	return array_merge( $common, $own );
}

/**
 * Returns one attribute as text. For authors without unfiltered_html, KSES encodes attributes as entities.
 *
 * @param array  $attributes Attributes of the shortcode or block.
 * @param string $name       Name of the attribute.
 * @return string
 */
function vitrine_attribute( $attributes, $name ) {
	if ( ! isset( $attributes[ $name ] ) || ! is_scalar( $attributes[ $name ] ) ) {
		return '';
	}
	return trim( wp_specialchars_decode( (string) $attributes[ $name ], ENT_QUOTES ) );
}

/**
 * Builds the query in a fixed order, so that the same box always has the same address.
 *
 * @param string $widget     `where-to-buy` or `deals`.
 * @param array  $attributes Attributes of the shortcode or block.
 * @return string Empty, or a query with its leading question mark.
 */
function vitrine_build_query( $widget, $attributes ) {
	$pairs = array();
	foreach ( vitrine_option_names( $widget ) as $name ) {
		$text   = vitrine_attribute( $attributes, $name );
		$values = in_array( $name, VITRINE_REPEATED_OPTIONS, true ) ? explode( '|', $text ) : array( $text );
		foreach ( array_map( 'trim', $values ) as $value ) {
			if ( '' !== $value ) {
				$pairs[] = $name . '=' . rawurlencode( $value );
			}
		}
	}
	return $pairs ? '?' . implode( '&', $pairs ) : '';
}

/**
 * Builds the address of a fragment.
 *
 * @param string $widget     `where-to-buy` or `deals`.
 * @param array  $attributes Attributes of the shortcode or block.
 * @return string|WP_Error The error has a message for editors.
 */
function vitrine_build_address( $widget, $attributes ) {
	$server = vitrine_setting( 'server' );
	if ( '' === $server ) {
		return new WP_Error( 'vitrine_no_server', __( 'The address of the Vitrine server is not set. An administrator can set it under Settings, Vitrine.', 'vitrine' ) );
	}
	$named   = vitrine_attribute( $attributes, 'channel' );
	$channel = '' === $named ? vitrine_setting( 'channel' ) : vitrine_normalize_channel( $named );
	if ( '' === $channel ) {
		return new WP_Error(
			'vitrine_no_channel',
			'' === $named
				? __( 'No channel is set. An administrator can set a default channel under Settings, Vitrine.', 'vitrine' )
				: __( 'The channel is not an id of 36 characters.', 'vitrine' )
		);
	}
	$path = '/' . VITRINE_DEALS;
	if ( VITRINE_WHERE_TO_BUY === $widget ) {
		$gtin = vitrine_attribute( $attributes, 'gtin' );
		if ( '' === $gtin ) {
			return new WP_Error( 'vitrine_no_gtin', __( 'Enter the GTIN of a product: the 8 to 14 digits below its barcode.', 'vitrine' ) );
		}
		$path = '/' . VITRINE_WHERE_TO_BUY . '/' . rawurlencode( $gtin );
	}
	return $server . '/fragments/' . $channel . $path . vitrine_build_query( $widget, $attributes );
}
