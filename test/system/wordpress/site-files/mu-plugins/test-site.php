<?php
/**
 * Additions for the test site: an adjustable clock, requests to the loopback address, and a file cache.
 */

add_filter(
	'vitrine_now',
	function ( $now ) {
		return $now + (int) @file_get_contents( getenv( 'VITRINE_TEST_SITE' ) . '/clock' );
	}
);

// Most tests compare a box with that of the server, which has no placement.
if ( ! file_exists( getenv( 'VITRINE_TEST_SITE' ) . '/placements' ) ) {
	add_filter( 'vitrine_sub', '__return_empty_string' );
}

// For embeds, WordPress calls only public addresses and three ports.
add_filter( 'http_request_host_is_external', '__return_true' );
add_filter(
	'http_allowed_safe_ports',
	function ( $ports, $host, $url ) {
		return array_merge( $ports, array( (int) wp_parse_url( $url, PHP_URL_PORT ) ) );
	},
	10,
	3
);

if ( wp_using_ext_object_cache() ) {
	require_once __DIR__ . '/cache/class-file-cache.php';
	$GLOBALS['wp_object_cache'] = new File_Cache();
}

// Run code of a test inside the running web server.
add_action(
	'wp_loaded',
	function () {
		if ( isset( $_SERVER['HTTP_X_RUN'] ) && getenv( 'VITRINE_TEST_TOKEN' ) === $_SERVER['HTTP_X_RUN'] ) {
			require_once ABSPATH . 'wp-admin/includes/admin.php';
			$result = eval( file_get_contents( 'php://input' ) );
			exit( "\n" . wp_json_encode( $result ) );
		}
	}
);
