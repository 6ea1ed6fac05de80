<?php
/**
 * Cache of boxes: one transient per address, so that another server or channel is another box.
 *
 * @package Vitrine
 */

defined( 'ABSPATH' ) || exit;

/**
 * Returns a box: fresh from the cache, from the server, or the last good one.
 *
 * @param string $address Address of the fragment.
 * @return array {
 *     @type string $html The unchanged fragment, or empty.
 *     @type string $note Message for editors: why it is empty.
 * }
 */
function vitrine_get_box( $address ) {
	$name   = 'vitrine_box_' . md5( $address );
	$cached = vitrine_parse_box( get_transient( $name ) );
	if ( vitrine_now() < $cached['ask_at'] ) {
		return $cached;
	}
	$reason = vitrine_wait_reason();
	if ( '' !== $reason ) {
		return vitrine_add_note( $cached, $reason );
	}
	$lock = 'vitrine_lock_' . md5( $address );
	if ( ! vitrine_acquire_lock( $lock ) ) {
		return vitrine_add_note( $cached, __( 'Another request is fetching this box. Reload the page in a moment.', 'vitrine' ) );
	}
	try {
		$cached = vitrine_parse_box( vitrine_read_uncached( $name ) );
		if ( vitrine_now() < $cached['ask_at'] ) {
			return $cached;
		}
		if ( ! vitrine_may_request() ) {
			return vitrine_add_note( $cached, vitrine_wait_reason() );
		}
		return vitrine_store_result( $name, $cached, vitrine_fetch( $address ) );
	} finally {
		vitrine_release_lock( $lock );
	}
}

/**
 * Stores the result of a response and returns the box to show.
 *
 * @param string $name   Name of the transient.
 * @param array  $cached The last good box.
 * @param array  $result See vitrine_classify_response().
 * @return array The box.
 */
function vitrine_store_result( $name, $cached, $result ) {
	if ( 'down' === $result['outcome'] ) {
		vitrine_start_pause( $result['note'] );
		return vitrine_add_note( $cached, $result['note'] );
	}
	vitrine_end_pause();
	$now = vitrine_now();
	if ( 'failed' === $result['outcome'] ) {
		$cached           = vitrine_add_note( $cached, $result['note'] );
		$cached['ask_at'] = $now + $result['fresh_seconds'];
	} else {
		$cached = array(
			'html'       => $result['html'],
			'note'       => $result['note'],
			'ask_at'     => $now + $result['fresh_seconds'],
			'keep_until' => $now + $result['fresh_seconds'] + $result['keep_seconds'],
		);
	}
	vitrine_store_box( $name, $cached );
	return $cached;
}

/**
 * Stores a box as ASCII JSON, because tables in an old character set cannot store all letters.
 *
 * @param string $name Name of the transient.
 * @param array  $cached The box.
 */
function vitrine_store_box( $name, $cached ) {
	$seconds = max( $cached['ask_at'], $cached['keep_until'] ) - vitrine_now();
	set_transient( $name, wp_json_encode( $cached, JSON_UNESCAPED_SLASHES ), max( 1, $seconds ) );
}

/**
 * Parses a stored box. A box that is too old to show gets empty HTML.
 *
 * @param mixed $stored Value of the transient.
 * @return array The box; `ask_at` is the time of the next request, `keep_until` the end of its use.
 */
function vitrine_parse_box( $stored ) {
	$empty = array(
		'html'       => '',
		'note'       => '',
		'ask_at'     => 0,
		'keep_until' => 0,
	);
	$cached = is_string( $stored ) ? json_decode( $stored, true ) : null;
	if ( ! is_array( $cached ) || array_diff_key( $empty, $cached ) ) {
		return $empty;
	}
	if ( vitrine_now() >= $cached['keep_until'] ) {
		$cached['html'] = '';
	}
	return $cached;
}

/**
 * Adds the reason why a box could not be refreshed.
 *
 * @param array  $cached The last good box.
 * @param string $note   Message for editors.
 * @return array
 */
function vitrine_add_note( $cached, $note ) {
	if ( '' !== $note ) {
		$cached['note'] = $note;
	}
	return $cached;
}
