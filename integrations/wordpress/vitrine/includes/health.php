<?php
/**
 * Checks the server for the settings page.
 *
 * @package Vitrine
 */

defined( 'ABSPATH' ) || exit;

/**
 * Requests a path of the server, with a longer timeout than for readers.
 *
 * @param string $path Path with its leading slash.
 * @return array|WP_Error
 */
function vitrine_request_path( $path ) {
	return wp_remote_get(
		vitrine_setting( 'server' ) . $path,
		array(
			'timeout'             => 3,
			'redirection'         => 0,
			'limit_response_size' => 1024,
			'cookies'             => array(),
		)
	);
}

/**
 * Checks the server and the default channel.
 *
 * @return array {
 *     @type bool   $is_good Whether boxes can be shown.
 *     @type string $message Result for administrators.
 * }
 */
function vitrine_check_server() {
	if ( '' === vitrine_setting( 'server' ) ) {
		if ( defined( 'VITRINE_SERVER' ) ) {
			return vitrine_check_result( false, __( 'VITRINE_SERVER in wp-config.php is not a valid address. Use the form https://widgets.example.', 'vitrine' ) );
		}
		return vitrine_check_result( false, __( 'Not set yet. Enter the address of your Vitrine server and save.', 'vitrine' ) );
	}
	$problem = vitrine_server_problem( vitrine_request_path( '/healthz' ) );
	if ( '' !== $problem ) {
		return vitrine_check_result( false, $problem );
	}
	$channel = vitrine_setting( 'channel' );
	if ( '' === $channel ) {
		return vitrine_check_result( true, __( 'The server responds. No default channel is set, so each box needs its own channel.', 'vitrine' ) );
	}
	if ( 404 === (int) wp_remote_retrieve_response_code( vitrine_request_path( '/fragments/' . $channel . '/deals?limit=1' ) ) ) {
		return vitrine_check_result( false, __( 'The server responds, but it has no channel with this id. The studio of the server shows the ids.', 'vitrine' ) );
	}
	return vitrine_check_result( true, __( 'The server responds and serves the default channel.', 'vitrine' ) );
}

/**
 * Returns what is wrong with the server.
 *
 * @param array|WP_Error $response Its response to /healthz.
 * @return string Empty when nothing is wrong.
 */
function vitrine_server_problem( $response ) {
	if ( is_wp_error( $response ) ) {
		if ( 'http_request_not_executed' === $response->get_error_code() ) {
			return __( 'WordPress does not allow requests to this address. Check WP_HTTP_BLOCK_EXTERNAL and WP_ACCESSIBLE_HOSTS in wp-config.php.', 'vitrine' );
		}
		/* translators: %s: message of the HTTP library. */
		return sprintf( __( 'The server does not respond. Check that it is running and that this site can reach it. (%s)', 'vitrine' ), $response->get_error_message() );
	}
	$code     = (int) wp_remote_retrieve_response_code( $response );
	$location = implode( '', (array) wp_remote_retrieve_header( $response, 'location' ) );
	if ( $code >= 300 && $code < 400 && '' !== $location ) {
		/* translators: %s: address. */
		return sprintf( __( 'The address redirects to %s. Enter the final address: the plugin does not follow redirects.', 'vitrine' ), $location );
	}
	if ( 200 !== $code ) {
		/* translators: %d: HTTP status, such as 404. */
		return sprintf( __( 'The address responds with status %d, so it is not a Vitrine server. Check the path.', 'vitrine' ), $code );
	}
	$health = json_decode( wp_remote_retrieve_body( $response ), true );
	if ( ! is_array( $health ) || ! isset( $health['status'] ) ) {
		return __( 'The address responds, but it is not a Vitrine server.', 'vitrine' );
	}
	return '';
}

/**
 * Builds the result of a check.
 *
 * @param bool   $is_good Whether boxes can be shown.
 * @param string $message Result for administrators.
 * @return array
 */
function vitrine_check_result( $is_good, $message ) {
	return array(
		'is_good' => $is_good,
		'message' => $message,
	);
}
