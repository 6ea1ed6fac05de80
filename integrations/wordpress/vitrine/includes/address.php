<?php
/**
 * From the attributes of a shortcode, a block or a link to the address of a fragment.
 *
 * @package Vitrine
 */

defined( 'ABSPATH' ) || exit;

const VITRINE_WHERE_TO_BUY = 'where-to-buy';
const VITRINE_DEALS        = 'deals';

/** Options that may be given several times, split by a bar. */
const VITRINE_REPEATED_OPTIONS = array( 'merchant', 'exclude' );

/**
 * The options of a widget, in the one order in which they are sent.
 *
 * @param string $widget `where-to-buy` or `deals`.
 * @return string[]
 */
function vitrine_option_names( $widget ) {
	$common = array( 'theme', 'accent', 'locale', 'currency', 'stock', 'merchant', 'exclude', 'isolate', 'css', 'layout', 'limit' );
	$own    = VITRINE_DEALS === $widget
		? array( 'page', 'sort', 'min_discount', 'max_price', 'brand', 'q' )
		: array( 'markup' );
	return array_merge( $common, $own );
}

/**
 * One attribute as a text. KSES writes entities into the attributes of authors who may not post any HTML.
 *
 * @param array  $attributes What the shortcode or block brought.
 * @param string $name       Which one.
 * @return string
 */
function vitrine_attribute( $attributes, $name ) {
	if ( ! isset( $attributes[ $name ] ) || ! is_scalar( $attributes[ $name ] ) ) {
		return '';
	}
	return trim( wp_specialchars_decode( (string) $attributes[ $name ], ENT_QUOTES ) );
}

/**
 * The options as a query, always in the same order, so that the same box has the same address.
 *
 * @param string $widget     Which widget.
 * @param array  $attributes What the shortcode or block brought.
 * @return string Empty, or a query that begins with a question mark.
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
 * The address of a fragment.
 *
 * @param string $widget     Which widget.
 * @param array  $attributes What the shortcode or block brought.
 * @return string|WP_Error Why there is none, in words for an editor.
 */
function vitrine_build_address( $widget, $attributes ) {
	$server = vitrine_setting( 'server' );
	if ( '' === $server ) {
		return new WP_Error( 'vitrine_no_server', __( 'The address of the Vitrine server is not set. An administrator sets it under Settings, Vitrine.', 'vitrine' ) );
	}
	$named   = vitrine_attribute( $attributes, 'channel' );
	$channel = '' === $named ? vitrine_setting( 'channel' ) : vitrine_normalize_channel( $named );
	if ( '' === $channel ) {
		return new WP_Error(
			'vitrine_no_channel',
			'' === $named
				? __( 'No channel is set. An administrator sets the default one under Settings, Vitrine.', 'vitrine' )
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
