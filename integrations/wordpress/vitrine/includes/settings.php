<?php
/**
 * The settings: server address and default channel.
 *
 * @package Vitrine
 */

defined( 'ABSPATH' ) || exit;

const VITRINE_SETTINGS = 'vitrine_settings';

const VITRINE_CHANNEL_PATTERN = '/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/';

/**
 * Returns a setting as stored for this site.
 *
 * @param string $name `server` or `channel`.
 * @return string Empty when it is not set.
 */
function vitrine_stored_setting( $name ) {
	$settings = get_option( VITRINE_SETTINGS );
	return is_array( $settings ) && isset( $settings[ $name ] ) && is_string( $settings[ $name ] ) ? $settings[ $name ] : '';
}

/**
 * Returns a setting. The constant `VITRINE_SERVER` overrides the stored server on all sites.
 *
 * @param string $name `server` or `channel`.
 * @return string Empty when it is not set.
 */
function vitrine_setting( $name ) {
	if ( 'server' === $name && defined( 'VITRINE_SERVER' ) ) {
		return is_string( VITRINE_SERVER ) ? vitrine_normalize_server( VITRINE_SERVER ) : '';
	}
	return vitrine_stored_setting( $name );
}

/**
 * Returns why the server address cannot be changed now.
 *
 * The plugin prints what the server sends, and WordPress calls the server from its own machine. So only users with
 * unfiltered_html may change it. Code without a user, such as WP-CLI, could write to the database anyway.
 *
 * @return string Message for administrators; empty if it can be changed.
 */
function vitrine_server_lock_reason() {
	if ( defined( 'VITRINE_SERVER' ) ) {
		return __( 'The server address is set by VITRINE_SERVER in wp-config.php and can only be changed there.', 'vitrine' );
	}
	if ( 0 !== get_current_user_id() && ! current_user_can( 'unfiltered_html' ) ) {
		return __( 'To change the server address, you need the capability unfiltered_html. On a multisite network, only super administrators have it.', 'vitrine' );
	}
	return '';
}

/**
 * Normalizes a server address: lower case, no trailing slash.
 *
 * @param string $text Typed value.
 * @return string Empty if it is not a valid address.
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
 * Normalizes a channel id to lower case.
 *
 * @param string $text Typed value.
 * @return string Empty if it is not a valid id.
 */
function vitrine_normalize_channel( $text ) {
	$channel = strtolower( trim( $text ) );
	return preg_match( VITRINE_CHANNEL_PATTERN, $channel ) ? $channel : '';
}

/**
 * Adds an error to the form. Outside the administration pages, the function does not exist.
 *
 * @param string $name    Name of the field.
 * @param string $message The error.
 */
function vitrine_add_field_error( $name, $message ) {
	if ( function_exists( 'add_settings_error' ) ) {
		add_settings_error( VITRINE_SETTINGS, 'vitrine_' . $name, $message );
	}
}

/**
 * Sanitizes one field of the form. An invalid value keeps the stored one and adds an error.
 *
 * @param array    $input     Fields of the form.
 * @param string   $name      Name of the field.
 * @param callable $normalize Returns the normalized value, or an empty string.
 * @param string   $message   Error for an invalid value.
 * @return string
 */
function vitrine_sanitize_field( $input, $name, $normalize, $message ) {
	$text  = isset( $input[ $name ] ) && is_string( $input[ $name ] ) ? sanitize_text_field( $input[ $name ] ) : '';
	$value = '' === $text ? '' : call_user_func( $normalize, $text );
	if ( '' !== $text && '' === $value ) {
		vitrine_add_field_error( $name, $message );
		return vitrine_stored_setting( $name );
	}
	return $value;
}

/**
 * Sanitizes the server address. If the user may not change it, the stored one stays, also when the disabled field is absent.
 *
 * @param array $input Fields of the form.
 * @return string
 */
function vitrine_sanitize_server( $input ) {
	$lock = vitrine_server_lock_reason();
	if ( '' === $lock ) {
		return vitrine_sanitize_field(
			$input,
			'server',
			'vitrine_normalize_server',
			__( 'The server address is not valid. Use the form https://widgets.example, with a path if needed, and without user name, password or query.', 'vitrine' )
		);
	}
	$stored = vitrine_stored_setting( 'server' );
	if ( isset( $input['server'] ) && $stored !== $input['server'] ) {
		vitrine_add_field_error( 'server', $lock );
	}
	return $stored;
}

/**
 * Sanitizes the settings on every write, from the form or from other code.
 *
 * @param mixed $input Fields of the form.
 * @return array Settings to be stored.
 */
function vitrine_sanitize_settings( $input ) {
	$input = is_array( $input ) ? $input : array();
	return array(
		'server'  => vitrine_sanitize_server( $input ),
		'channel' => vitrine_sanitize_field(
			$input,
			'channel',
			'vitrine_normalize_channel',
			__( 'The channel is not valid. Enter the id of 36 characters that the studio of your Vitrine server shows.', 'vitrine' )
		),
	);
}

/**
 * Registers the settings with their sanitizer.
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
