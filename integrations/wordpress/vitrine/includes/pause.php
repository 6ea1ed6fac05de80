<?php
/**
 * Pause after a failure of the server, for all boxes and visitors. After the pause, one request tries the server.
 *
 * @package Vitrine
 */

defined( 'ABSPATH' ) || exit;

/**
 * Returns the name of the transient for this server.
 *
 * @return string
 */
function vitrine_pause_name() {
	return 'vitrine_pause_' . md5( vitrine_setting( 'server' ) );
}

/**
 * Starts a pause.
 *
 * @param string $note Reason, for editors.
 */
function vitrine_start_pause( $note ) {
	$pause = array(
		'until' => vitrine_now() + VITRINE_RETRY_SECONDS,
		'note'  => $note,
	);
	set_transient( vitrine_pause_name(), $pause, HOUR_IN_SECONDS );
}

/**
 * Ends the pause after a response.
 */
function vitrine_end_pause() {
	if ( false !== get_transient( vitrine_pause_name() ) ) {
		delete_transient( vitrine_pause_name() );
	}
}

/**
 * Returns the reason for the current pause.
 *
 * @param mixed $pause Value of the transient.
 * @return string Empty without a pause.
 */
function vitrine_pause_note( $pause ) {
	$is_on = is_array( $pause ) && isset( $pause['until'], $pause['note'] ) && vitrine_now() < $pause['until'];
	return $is_on ? (string) $pause['note'] : '';
}

/**
 * Returns why this page view must not send a request.
 *
 * @return string Message for editors; empty if a request is allowed.
 */
function vitrine_wait_reason() {
	if ( vitrine_waited_seconds() >= VITRINE_PAGE_SECONDS ) {
		return __( 'This page view has used up its waiting time for the Vitrine server. The next visit requests the box.', 'vitrine' );
	}
	return vitrine_pause_note( get_transient( vitrine_pause_name() ) );
}

/**
 * Whether this request may call the server. After a pause only the first request may; the others wait for its result.
 *
 * @return bool
 */
function vitrine_may_request() {
	$name  = vitrine_pause_name();
	$pause = get_transient( $name );
	if ( ! is_array( $pause ) ) {
		return true;
	}
	if ( ! vitrine_acquire_lock( 'vitrine_lock_trial' ) ) {
		return false;
	}
	$is_first = '' === vitrine_pause_note( vitrine_read_uncached( $name ) );
	if ( $is_first ) {
		vitrine_start_pause( isset( $pause['note'] ) ? $pause['note'] : '' );
	}
	vitrine_release_lock( 'vitrine_lock_trial' );
	return $is_first;
}
