<?php
/**
 * Time and durations.
 *
 * @package Vitrine
 */

defined( 'ABSPATH' ) || exit;

/** Timeout of one request: with cURL, WordPress raises shorter timeouts to one second. */
const VITRINE_DEADLINE_SECONDS = 1;

/** A page view that has waited this long in total sends no further requests. */
const VITRINE_PAGE_SECONDS = 1;

/** Pause after a failure. */
const VITRINE_RETRY_SECONDS = 30;

/** Bounds for the freshness of a response. */
const VITRINE_FRESH_MIN_SECONDS = 60;
const VITRINE_FRESH_MAX_SECONDS = 300;

/** Longest time for which the last good box is shown while the server fails. */
const VITRINE_KEEP_SECONDS = DAY_IN_SECONDS;

/** Lifetime of a lock: after it, the lock of a crashed request is free again. */
const VITRINE_LOCK_SECONDS = 10;

/**
 * Returns the current time; all code uses this function.
 *
 * @return int Seconds since 1970.
 */
function vitrine_now() {
	/**
	 * Filters the current time of the plugin.
	 *
	 * @param int $now Seconds since 1970.
	 */
	return (int) apply_filters( 'vitrine_now', time() );
}
