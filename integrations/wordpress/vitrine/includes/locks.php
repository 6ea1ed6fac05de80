<?php
/**
 * Locks: while one request refreshes a box, all others show the box that they have.
 *
 * With a persistent object cache the lock is `wp_cache_add`, which such caches do as one step on their server. Without
 * one it is a row of the options table whose name is unique: `INSERT IGNORE`, as WordPress locks its own updates.
 * `add_option` is no lock: it writes over a row that another request made a moment ago, and reports success.
 *
 * @package Vitrine
 */

defined( 'ABSPATH' ) || exit;

/**
 * Takes a lock, at once or not at all.
 *
 * @param string $name Name of the lock, with the plugin's prefix.
 * @return bool Whether this request has it now.
 */
function vitrine_take_lock( $name ) {
	global $wpdb;
	if ( wp_using_ext_object_cache() ) {
		return wp_cache_add( $name, 1, 'vitrine', VITRINE_LOCK_SECONDS );
	}
	$now = vitrine_now();
	// phpcs:disable WordPress.DB.DirectDatabaseQuery -- a lock has to be one step in the database, past every cache.
	$made = $wpdb->query(
		$wpdb->prepare(
			"INSERT IGNORE INTO `$wpdb->options` ( `option_name`, `option_value`, `autoload` ) VALUES ( %s, %s, 'no' )",
			$name,
			(string) ( $now + VITRINE_LOCK_SECONDS )
		)
	);
	if ( $made ) {
		return true;
	}
	$inherited = $wpdb->query(
		$wpdb->prepare(
			"UPDATE `$wpdb->options` SET `option_value` = %s WHERE `option_name` = %s AND CAST( `option_value` AS UNSIGNED ) <= %d",
			(string) ( $now + VITRINE_LOCK_SECONDS ),
			$name,
			$now
		)
	);
	// phpcs:enable
	return (bool) $inherited;
}

/**
 * Gives a lock back.
 *
 * @param string $name Name of the lock.
 */
function vitrine_release_lock( $name ) {
	global $wpdb;
	if ( wp_using_ext_object_cache() ) {
		wp_cache_delete( $name, 'vitrine' );
		return;
	}
	// phpcs:ignore WordPress.DB.DirectDatabaseQuery -- it was never in a cache.
	$wpdb->delete( $wpdb->options, array( 'option_name' => $name ) );
}

/**
 * A transient as it is stored now, not as this request read it before it had the lock.
 *
 * @param string $name Name of the transient.
 * @return mixed False when there is none.
 */
function vitrine_read_again( $name ) {
	if ( wp_using_ext_object_cache() ) {
		return wp_cache_get( $name, 'transient', true );
	}
	$rows = array( '_transient_' . $name, '_transient_timeout_' . $name );
	foreach ( $rows as $row ) {
		wp_cache_delete( $row, 'options' );
	}
	$absent = wp_cache_get( 'notoptions', 'options' );
	if ( is_array( $absent ) ) {
		wp_cache_set( 'notoptions', array_diff_key( $absent, array_flip( $rows ) ), 'options' );
	}
	return get_transient( $name );
}
