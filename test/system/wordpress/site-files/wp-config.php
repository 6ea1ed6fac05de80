<?php
/**
 * Settings of the test site: a database on a socket, and the origin, which is known after the server has started.
 */
$vitrine_folder  = getenv( 'VITRINE_TEST_SITE' );
$vitrine_origin = trim( (string) file_get_contents( $vitrine_folder . '/origin' ) );

define( 'DB_NAME', getenv( 'VITRINE_TEST_DATABASE' ) );
define( 'DB_USER', 'root' );
define( 'DB_PASSWORD', '' );
define( 'DB_HOST', 'localhost:' . getenv( 'VITRINE_TEST_SOCKET' ) );
define( 'DB_CHARSET', 'utf8mb4' );
define( 'WP_HOME', $vitrine_origin );
define( 'WP_SITEURL', $vitrine_origin );
define( 'WP_CONTENT_DIR', $vitrine_folder . '/www/wp-content' );
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
define( 'WP_DEBUG_LOG', $vitrine_folder . '/debug.log' );
$table_prefix = 'wp_';

// Additional settings of a test.
if ( is_file( $vitrine_folder . '/config.php' ) ) {
	require $vitrine_folder . '/config.php';
}

require_once ABSPATH . 'wp-settings.php';
