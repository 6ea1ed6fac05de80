<?php
/**
 * What only the test place has: a clock that can be moved, a loopback that may be called, and a cache in files.
 */

add_filter(
	'vitrine_now',
	function ( $now ) {
		return $now + (int) @file_get_contents( getenv( 'VITRINE_TEST_SITE' ) . '/clock' );
	}
);

// WordPress itself calls only public addresses and three ports when it looks for embeds.
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

// Code of the test, run in a process that is warm.
add_action(
	'wp_loaded',
	function () {
		if ( isset( $_SERVER['HTTP_X_RUN'] ) && getenv( 'VITRINE_TEST_TOKEN' ) === $_SERVER['HTTP_X_RUN'] ) {
			require_once ABSPATH . 'wp-admin/includes/admin.php';
			$answer = eval( file_get_contents( 'php://input' ) );
			exit( "\n" . wp_json_encode( $answer ) );
		}
	}
);
