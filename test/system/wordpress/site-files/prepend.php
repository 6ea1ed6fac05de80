<?php
/**
 * Runs before every script of the test site. Most of its WordPress folder consists of symbolic links.
 */
define( 'ABSPATH', getenv( 'VITRINE_TEST_SITE' ) . '/www/' );

// Ignore in WordPress's own files: deprecations of newer PHP versions, and failed calls to wordpress.org.
set_error_handler(
	function ( $level, $message, $file ) {
		$is_deprecation = E_DEPRECATED === $level || E_USER_DEPRECATED === $level;
		$is_call  = E_USER_WARNING === $level && false !== strpos( $message, 'wordpress.org/support' );
		return ( $is_deprecation || $is_call ) && 0 === strpos( $file, getenv( 'VITRINE_TEST_WORDPRESS' ) . '/wp-' );
	}
);
