<?php
/**
 * Builds the address of a fragment from the attributes of a shortcode, a block or a link.
 *
 * @package Vitrine
 */

defined( 'ABSPATH' ) || exit;

const VITRINE_WHERE_TO_BUY = 'where-to-buy';
const VITRINE_PICKS        = 'picks';
const VITRINE_DEALS        = 'deals';

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
 * Returns a list of GTINs without spaces.
 *
 * @param array  $attributes Attributes of the shortcode or block.
 * @param string $name       Name of the attribute.
 * @return string
 */
function vitrine_gtins( $attributes, $name ) {
	return preg_replace( '/\s+/', '', vitrine_attribute( $attributes, $name ) );
}

/**
 * Returns the values of an option.
 *
 * @param string $name       Name of the option.
 * @param array  $attributes Attributes of the shortcode or block.
 * @return string[]
 */
function vitrine_option_values( $name, $attributes ) {
	if ( 'else' === $name ) {
		return array_filter( array( vitrine_gtins( $attributes, $name ) ), 'strlen' );
	}
	$text = vitrine_attribute( $attributes, $name );
	if ( 'label' === $name ) {
		$text = '' === $text ? vitrine_attribute( $attributes, 'labels' ) : $text;
		// Labels are for the products in their order, so an empty one keeps its position.
		return '' === $text ? array() : array_map( 'trim', explode( '|', $text ) );
	}
	$values = in_array( $name, VITRINE_REPEATED_OPTIONS, true ) ? explode( '|', $text ) : array( $text );
	return array_filter( array_map( 'trim', $values ), 'strlen' );
}

/**
 * Builds the query in a fixed order, so that the same box always has the same address.
 *
 * @param string $widget     `where-to-buy`, `picks` or `deals`.
 * @param array  $attributes Attributes of the shortcode or block.
 * @return string Empty, or a query with its leading question mark.
 */
function vitrine_build_query( $widget, $attributes ) {
	$pairs = array();
	foreach ( VITRINE_OPTIONS[ $widget ] as $name ) {
		foreach ( vitrine_option_values( $name, $attributes ) as $value ) {
			$pairs[] = $name . '=' . rawurlencode( $value );
		}
	}
	return $pairs ? '?' . implode( '&', $pairs ) : '';
}

/**
 * Builds the path of a widget below its channel.
 *
 * @param string $widget     `where-to-buy`, `picks` or `deals`.
 * @param array  $attributes Attributes of the shortcode or block.
 * @return string|WP_Error The error has a message for editors.
 */
function vitrine_build_path( $widget, $attributes ) {
	if ( VITRINE_DEALS === $widget ) {
		return '/' . VITRINE_DEALS;
	}
	$is_round_up = VITRINE_PICKS === $widget;
	$gtins       = vitrine_gtins( $attributes, $is_round_up ? 'gtins' : 'gtin' );
	if ( '' === $gtins ) {
		return new WP_Error(
			'vitrine_no_gtin',
			$is_round_up
				? __( 'Enter the GTINs of 2 to 20 products, separated by commas.', 'vitrine' )
				: __( 'Enter the GTIN of a product: the 8 to 14 digits below its barcode.', 'vitrine' )
		);
	}
	return '/' . $widget . '/' . str_replace( '%2C', ',', rawurlencode( $gtins ) );
}

/**
 * Builds the address of a fragment.
 *
 * @param string $widget     `where-to-buy`, `picks` or `deals`.
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
	$path = vitrine_build_path( $widget, $attributes );
	return is_wp_error( $path ) ? $path : $server . '/fragments/' . $channel . $path . vitrine_build_query( $widget, $attributes );
}
