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
 * One setting as it is stored for this site.
 *
 * @param string $name Which one: `server` or `channel`.
 * @return string Empty when it is not set.
 */
function vitrine_stored_setting( $name ) {
	$settings = get_option( VITRINE_SETTINGS );
	return is_array( $settings ) && isset( $settings[ $name ] ) && is_string( $settings[ $name ] ) ? $settings[ $name ] : '';
}

/**
 * One setting. The constant `VITRINE_SERVER` holds for all sites, whatever is stored.
 *
 * @param string $name Which one: `server` or `channel`.
 * @return string Empty when it is not set.
 */
function vitrine_setting( $name ) {
	if ( 'server' === $name && defined( 'VITRINE_SERVER' ) ) {
		return is_string( VITRINE_SERVER ) ? vitrine_normalize_server( VITRINE_SERVER ) : '';
	}
	return vitrine_stored_setting( $name );
}

/**
 * Why the server's address cannot be changed now.
 *
 * What the server sends is printed as it is, and WordPress calls it from its own machine. So who chooses it has to be somebody
 * who may post any HTML. Code that runs for no user, such as WP-CLI, could write the database as well.
 *
 * @return string Words for an administrator; empty when it can be changed.
 */
function vitrine_server_lock() {
	if ( defined( 'VITRINE_SERVER' ) ) {
		return __( 'The server address is set in wp-config.php, as VITRINE_SERVER, and can only be changed there.', 'vitrine' );
	}
	if ( 0 !== get_current_user_id() && ! current_user_can( 'unfiltered_html' ) ) {
		return __( 'Only somebody who may post any HTML can change the server address: on a network, a super administrator.', 'vitrine' );
	}
	return '';
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
 * Says what was wrong with the form. Outside of the administration there is nobody to say it to.
 *
 * @param string $name  Which field.
 * @param string $words What was wrong.
 */
function vitrine_refuse_field( $name, $words ) {
	if ( function_exists( 'add_settings_error' ) ) {
		add_settings_error( VITRINE_SETTINGS, 'vitrine_' . $name, $words );
	}
}

/**
 * Takes one field of the form. A value that is wrong leaves the one before, and says so.
 *
 * @param array    $input     Fields of the form.
 * @param string   $name      Which one.
 * @param callable $normalize Gives the one form of a value, or an empty text.
 * @param string   $words     Said of a wrong value.
 * @return string
 */
function vitrine_take_field( $input, $name, $normalize, $words ) {
	$text  = isset( $input[ $name ] ) && is_string( $input[ $name ] ) ? sanitize_text_field( $input[ $name ] ) : '';
	$value = '' === $text ? '' : call_user_func( $normalize, $text );
	if ( '' !== $text && '' === $value ) {
		vitrine_refuse_field( $name, $words );
		return vitrine_stored_setting( $name );
	}
	return $value;
}

/**
 * Takes the server's address. Who may not change it leaves the one before, also without the field, which is disabled then.
 *
 * @param array $input Fields of the form.
 * @return string
 */
function vitrine_take_server( $input ) {
	$lock = vitrine_server_lock();
	if ( '' === $lock ) {
		return vitrine_take_field(
			$input,
			'server',
			'vitrine_normalize_server',
			__( 'The server address is not usable. It looks like https://widgets.example, may have a path, and has no user name, password or question mark.', 'vitrine' )
		);
	}
	$stored = vitrine_stored_setting( 'server' );
	if ( isset( $input['server'] ) && $stored !== $input['server'] ) {
		vitrine_refuse_field( 'server', $lock );
	}
	return $stored;
}

/**
 * Takes what the form of the settings page sent, and whatever else is to be stored.
 *
 * @param mixed $input Fields of the form.
 * @return array Settings to be stored.
 */
function vitrine_sanitize_settings( $input ) {
	$input = is_array( $input ) ? $input : array();
	return array(
		'server'  => vitrine_take_server( $input ),
		'channel' => vitrine_take_field(
			$input,
			'channel',
			'vitrine_normalize_channel',
			__( 'The channel is not usable. It is an id of 36 characters, as the studio of your Vitrine server shows it.', 'vitrine' )
		),
	);
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
