<?php
/**
 * Tries the server, and says in plain words what is wrong.
 *
 * @package Vitrine
 */

defined( 'ABSPATH' ) || exit;

/**
 * Asks the server for one of its addresses, for an administrator who can wait a little.
 *
 * @param string $path Path with its leading slash.
 * @return array|WP_Error
 */
function vitrine_try_path( $path ) {
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
 * Tries the server and the default channel.
 *
 * @return array {
 *     @type bool   $is_good Whether boxes can be shown.
 *     @type string $words   What was found.
 * }
 */
function vitrine_try_server() {
	if ( '' === vitrine_setting( 'server' ) ) {
		if ( defined( 'VITRINE_SERVER' ) ) {
			return vitrine_finding( false, __( 'VITRINE_SERVER in wp-config.php is no usable address. It looks like https://widgets.example.', 'vitrine' ) );
		}
		return vitrine_finding( false, __( 'Not set yet. Enter the address of your Vitrine server and save.', 'vitrine' ) );
	}
	$problem = vitrine_server_problem( vitrine_try_path( '/healthz' ) );
	if ( '' !== $problem ) {
		return vitrine_finding( false, $problem );
	}
	$channel = vitrine_setting( 'channel' );
	if ( '' === $channel ) {
		return vitrine_finding( true, __( 'The server answers. No default channel is set: each box has to name its own.', 'vitrine' ) );
	}
	if ( 404 === (int) wp_remote_retrieve_response_code( vitrine_try_path( '/fragments/' . $channel . '/deals?limit=1' ) ) ) {
		return vitrine_finding( false, __( 'The server answers, but it serves no channel of this id. The ids are in its studio.', 'vitrine' ) );
	}
	return vitrine_finding( true, __( 'The server answers, and it serves the default channel.', 'vitrine' ) );
}

/**
 * What is wrong with the server.
 *
 * @param array|WP_Error $response Its answer to /healthz.
 * @return string Empty when nothing is.
 */
function vitrine_server_problem( $response ) {
	if ( is_wp_error( $response ) ) {
		if ( 'http_request_not_executed' === $response->get_error_code() ) {
			return __( 'WordPress refuses to call this address: see WP_HTTP_BLOCK_EXTERNAL and WP_ACCESSIBLE_HOSTS in wp-config.php.', 'vitrine' );
		}
		/* translators: %s: message of the HTTP library. */
		return sprintf( __( 'The server does not answer. Is it running, and can this site reach it? (%s)', 'vitrine' ), $response->get_error_message() );
	}
	$code     = (int) wp_remote_retrieve_response_code( $response );
	$location = implode( '', (array) wp_remote_retrieve_header( $response, 'location' ) );
	if ( $code >= 300 && $code < 400 && '' !== $location ) {
		/* translators: %s: address. */
		return sprintf( __( 'The address leads on to %s. Enter the address that answers itself: boxes follow no redirects.', 'vitrine' ), $location );
	}
	if ( 200 !== $code ) {
		/* translators: %d: HTTP status, such as 404. */
		return sprintf( __( 'Something answers there with the status %d, but it is not a Vitrine server. Is the path right?', 'vitrine' ), $code );
	}
	$health = json_decode( wp_remote_retrieve_body( $response ), true );
	if ( ! is_array( $health ) || ! isset( $health['status'] ) ) {
		return __( 'Something answers there, but it is not a Vitrine server.', 'vitrine' );
	}
	return '';
}

/**
 * A finding.
 *
 * @param bool   $is_good Whether boxes can be shown.
 * @param string $words   What was found.
 * @return array
 */
function vitrine_finding( $is_good, $words ) {
	return array(
		'is_good' => $is_good,
		'words'   => $words,
	);
}
