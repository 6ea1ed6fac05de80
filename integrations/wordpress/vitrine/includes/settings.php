<?php
/**
 * The two settings: the server's address and the default channel.
 *
 * @package Vitrine
 */

defined( 'ABSPATH' ) || exit;

const VITRINE_SETTINGS = 'vitrine_settings';

const VITRINE_CHANNEL_PATTERN = '/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/';

/**
 * One setting.
 *
 * @param string $name Which one: `server` or `channel`.
 * @return string Empty when it is not set.
 */
function vitrine_setting( $name ) {
	$settings = get_option( VITRINE_SETTINGS );
	return is_array( $settings ) && isset( $settings[ $name ] ) && is_string( $settings[ $name ] ) ? $settings[ $name ] : '';
}

/**
 * The server's address in its one form, without a slash at its end.
 *
 * @param string $text What somebody typed.
 * @return string Empty when it is no address of a server.
 */
function vitrine_normalize_server( $text ) {
	$text  = trim( $text );
	$parts = preg_match( '/[\s"\'<>\\\\]/', $text ) ? false : wp_parse_url( $text );
	if ( ! is_array( $parts ) || empty( $parts['host'] ) || ! isset( $parts['scheme'] ) ) {
		return '';
	}
	$scheme = strtolower( $parts['scheme'] );
	if ( ! in_array( $scheme, array( 'http', 'https' ), true ) ) {
		return '';
	}
	foreach ( array( 'user', 'pass', 'query', 'fragment' ) as $unwanted ) {
		if ( isset( $parts[ $unwanted ] ) ) {
			return '';
		}
	}
	$port = isset( $parts['port'] ) ? ':' . $parts['port'] : '';
	$path = isset( $parts['path'] ) ? rtrim( $parts['path'], '/' ) : '';
	return $scheme . '://' . strtolower( $parts['host'] ) . $port . $path;
}

/**
 * A channel's id in its one form.
 *
 * @param string $text What somebody typed.
 * @return string Empty when it is no id.
 */
function vitrine_normalize_channel( $text ) {
	$channel = strtolower( trim( $text ) );
	return preg_match( VITRINE_CHANNEL_PATTERN, $channel ) ? $channel : '';
}

/**
 * Takes what the form of the settings page sent. A value that is wrong leaves the one before, and says so.
 *
 * @param mixed $input Fields of the form.
 * @return array Settings to be stored.
 */
function vitrine_sanitize_settings( $input ) {
	$input     = is_array( $input ) ? $input : array();
	$sanitized = array();
	$readers   = array(
		'server'  => array(
			'vitrine_normalize_server',
			__( 'The server address is not usable. It looks like https://widgets.example, may have a path, and has no user name, password or question mark.', 'vitrine' ),
		),
		'channel' => array(
			'vitrine_normalize_channel',
			__( 'The channel is not usable. It is an id of 36 characters, as the start page of your Vitrine server shows it.', 'vitrine' ),
		),
	);
	foreach ( $readers as $name => list( $normalize, $words ) ) {
		$text               = isset( $input[ $name ] ) && is_string( $input[ $name ] ) ? sanitize_text_field( $input[ $name ] ) : '';
		$sanitized[ $name ] = '' === $text ? '' : call_user_func( $normalize, $text );
		if ( '' !== $text && '' === $sanitized[ $name ] ) {
			$sanitized[ $name ] = vitrine_setting( $name );
			if ( function_exists( 'add_settings_error' ) ) {
				add_settings_error( VITRINE_SETTINGS, 'vitrine_' . $name, $words );
			}
		}
	}
	return $sanitized;
}

/**
 * Makes the settings known, with what every writer of them has to pass.
 */
function vitrine_register_settings() {
	register_setting(
		'vitrine',
		VITRINE_SETTINGS,
		array(
			'type'              => 'object',
			'sanitize_callback' => 'vitrine_sanitize_settings',
			'default'           => array(),
		)
	);
}
add_action( 'init', 'vitrine_register_settings' );
