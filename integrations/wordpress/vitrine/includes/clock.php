<?php
/**
 * Time, and how long things last.
 *
 * @package Vitrine
 */

defined( 'ABSPATH' ) || exit;

/** Longest wait for one answer. cURL in WordPress knows no shorter one. */
const VITRINE_DEADLINE_SECONDS = 1;

/** A page view that has waited this long in all asks nothing more. */
const VITRINE_PAGE_SECONDS = 1;

/** After a failure nobody tries again for so long. */
const VITRINE_RETRY_SECONDS = 30;

/** Bounds of how long one answer is fresh. */
const VITRINE_FRESH_MIN_SECONDS = 60;
const VITRINE_FRESH_MAX_SECONDS = 300;

/** How long the last good box is shown at most while the server fails. */
const VITRINE_KEEP_SECONDS = DAY_IN_SECONDS;

/** A lock whose owner died is free again after so long. */
const VITRINE_LOCK_SECONDS = 10;

/**
 * The only source of time.
 *
 * @return int Seconds since 1970.
 */
function vitrine_now() {
	/**
	 * Filters the time that the plugin goes by.
	 *
	 * @param int $now Seconds since 1970.
	 */
	return (int) apply_filters( 'vitrine_now', time() );
}
