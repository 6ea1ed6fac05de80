<?php
/**
 * Locks: while one request refreshes a box, all others show the cached box.
 *
 * With a persistent object cache, the lock is `wp_cache_add`, which is atomic in such caches. Otherwise it is a row in
 * the options table, inserted with `INSERT IGNORE`, as WordPress locks its own updates. `add_option` does not work as a
 * lock: it overwrites a row that another request has just inserted, and reports success.
 *
 * @package Vitrine
 */

defined( 'ABSPATH' ) || exit;

/**
 * Tries to acquire a lock without waiting.
 *
 * @param string $name Name of the lock, with the plugin's prefix.
 * @return bool Whether this request has the lock.
 */
function vitrine_acquire_lock( $name ) {
	global $wpdb;
	if ( wp_using_ext_object_cache() ) {
		return wp_cache_add( $name, 1, 'vitrine', VITRINE_LOCK_SECONDS );
	}
	$now = vitrine_now();
	// phpcs:disable WordPress.DB.DirectDatabaseQuery -- a lock must be one atomic statement that bypasses all caches.
	$is_inserted = $wpdb->query(
		$wpdb->prepare(
			"INSERT IGNORE INTO `$wpdb->options` ( `option_name`, `option_value`, `autoload` ) VALUES ( %s, %s, 'no' )",
			$name,
			(string) ( $now + VITRINE_LOCK_SECONDS )
		)
	);
	if ( $is_inserted ) {
		return true;
	}
	$is_taken_over = $wpdb->query(
		$wpdb->prepare(
			"UPDATE `$wpdb->options` SET `option_value` = %s WHERE `option_name` = %s AND CAST( `option_value` AS UNSIGNED ) <= %d",
			(string) ( $now + VITRINE_LOCK_SECONDS ),
			$name,
			$now
		)
	);
	// phpcs:enable
	return (bool) $is_taken_over;
}

/**
 * Releases a lock.
 *
 * @param string $name Name of the lock.
 */
function vitrine_release_lock( $name ) {
	global $wpdb;
	if ( wp_using_ext_object_cache() ) {
		wp_cache_delete( $name, 'vitrine' );
		return;
	}
	// phpcs:ignore WordPress.DB.DirectDatabaseQuery -- the row is never cached.
	$wpdb->delete( $wpdb->options, array( 'option_name' => $name ) );
}

/**
 * Reads a transient again after acquiring a lock, bypassing the caches of this request.
 *
 * @param string $name Name of the transient.
 * @return mixed False if it does not exist.
 */
function vitrine_read_uncached( $name ) {
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
