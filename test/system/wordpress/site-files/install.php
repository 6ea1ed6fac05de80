<?php
/**
 * Install WordPress on the test site.
 */
$_SERVER['SERVER_PROTOCOL'] = 'HTTP/1.1';
$_SERVER['HTTP_HOST']       = '127.0.0.1';
$_SERVER['REQUEST_URI']     = '/';

define( 'WP_INSTALLING', true );

/** Send no mail. */
function wp_mail() {
	return true;
}

require ABSPATH . 'wp-load.php';
require_once ABSPATH . 'wp-admin/includes/upgrade.php';
wp_install( 'Slow Shelf', 'administrator', 'a@shelf.example', true, '', 'administrator' );
