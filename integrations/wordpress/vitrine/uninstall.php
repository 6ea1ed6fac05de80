<?php
/**
 * Removes everything that the plugin stored.
 *
 * @package Vitrine
 */

defined( 'WP_UNINSTALL_PLUGIN' ) || exit;

/**
 * Removes settings, boxes, pauses and locks of the current site. Boxes in an object cache expire within a day.
 */
function vitrine_uninstall_site() {
	global $wpdb;
	delete_option( 'vitrine_settings' );
	foreach ( array( '_transient_vitrine_', '_transient_timeout_vitrine_', 'vitrine_lock_' ) as $prefix ) {
		// phpcs:ignore WordPress.DB.DirectDatabaseQuery -- WordPress has no API to list options by prefix.
		$names = $wpdb->get_col( $wpdb->prepare( "SELECT `option_name` FROM `$wpdb->options` WHERE `option_name` LIKE %s", $wpdb->esc_like( $prefix ) . '%' ) );
		array_map( 'delete_option', $names );
	}
}

if ( is_multisite() ) {
	$vitrine_site_ids = get_sites(
		array(
			'fields' => 'ids',
			'number' => 0,
		)
	);
	foreach ( $vitrine_site_ids as $vitrine_site_id ) {
		switch_to_blog( $vitrine_site_id );
		vitrine_uninstall_site();
		restore_current_blog();
	}
} else {
	vitrine_uninstall_site();
}
