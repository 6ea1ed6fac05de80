<?php
/**
 * Runs before every script of the test place: its folder is WordPress, though most of it is linked from elsewhere.
 */
define( 'ABSPATH', getenv( 'VITRINE_TEST_SITE' ) . '/www/' );

// Passed over, of WordPress itself only: old habits that a newer PHP names, and that it may not call wordpress.org here.
set_error_handler(
	function ( $level, $words, $file ) {
		$is_habit = E_DEPRECATED === $level || E_USER_DEPRECATED === $level;
		$is_call  = E_USER_WARNING === $level && false !== strpos( $words, 'wordpress.org/support' );
		return ( $is_habit || $is_call ) && 0 === strpos( $file, '/usr/share/wordpress/wp-' );
	}
);
