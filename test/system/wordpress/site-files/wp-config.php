<?php
/**
 * Settings of the test place: a database behind a socket, and an origin that is known once the server listens.
 */
$vitrine_place  = getenv( 'VITRINE_TEST_SITE' );
$vitrine_origin = trim( (string) file_get_contents( $vitrine_place . '/origin' ) );

define( 'DB_NAME', getenv( 'VITRINE_TEST_DATABASE' ) );
define( 'DB_USER', 'root' );
define( 'DB_PASSWORD', '' );
define( 'DB_HOST', 'localhost:' . getenv( 'VITRINE_TEST_SOCKET' ) );
define( 'DB_CHARSET', 'utf8mb4' );
define( 'WP_HOME', $vitrine_origin );
define( 'WP_SITEURL', $vitrine_origin );
define( 'WP_CONTENT_DIR', $vitrine_place . '/www/wp-content' );
define( 'AUTH_KEY', 'a' );
define( 'SECURE_AUTH_KEY', 'b' );
define( 'LOGGED_IN_KEY', 'c' );
define( 'NONCE_KEY', 'd' );
define( 'AUTH_SALT', 'e' );
define( 'SECURE_AUTH_SALT', 'f' );
define( 'LOGGED_IN_SALT', 'g' );
define( 'NONCE_SALT', 'h' );
define( 'DISABLE_WP_CRON', true );
define( 'AUTOMATIC_UPDATER_DISABLED', true );
define( 'WP_HTTP_BLOCK_EXTERNAL', true );
define( 'WP_ACCESSIBLE_HOSTS', '127.0.0.1' );
define( 'WP_DEBUG', true );
define( 'WP_DEBUG_DISPLAY', true );
define( 'WP_DEBUG_LOG', $vitrine_place . '/debug.log' );
$table_prefix = 'wp_';

// What a test wants this site to be told.
if ( is_file( $vitrine_place . '/config.php' ) ) {
	require $vitrine_place . '/config.php';
}

require_once ABSPATH . 'wp-settings.php';
