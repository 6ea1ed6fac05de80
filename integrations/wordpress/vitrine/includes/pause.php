<?php
/**
 * A server that fails is left alone: for all boxes, and for all visitors. When the pause is over, one request tries.
 *
 * @package Vitrine
 */

defined( 'ABSPATH' ) || exit;

/**
 * Name of the transient of this server's pause.
 *
 * @return string
 */
function vitrine_pause_name() {
	return 'vitrine_pause_' . md5( vitrine_setting( 'server' ) );
}

/**
 * Begins a pause.
 *
 * @param string $note Why, in words for an editor.
 */
function vitrine_begin_pause( $note ) {
	$pause = array(
		'until' => vitrine_now() + VITRINE_RETRY_SECONDS,
		'note'  => $note,
	);
	set_transient( vitrine_pause_name(), $pause, HOUR_IN_SECONDS );
}

/**
 * Ends the pause: the server answered.
 */
function vitrine_end_pause() {
	if ( false !== get_transient( vitrine_pause_name() ) ) {
		delete_transient( vitrine_pause_name() );
	}
}

/**
 * Why the server is left alone now.
 *
 * @param mixed $pause What the transient holds.
 * @return string Empty when it is not.
 */
function vitrine_pause_note( $pause ) {
	$is_on = is_array( $pause ) && isset( $pause['until'], $pause['note'] ) && vitrine_now() < $pause['until'];
	return $is_on ? (string) $pause['note'] : '';
}

/**
 * Why nothing may be asked now.
 *
 * @return string Words for an editor; empty when nothing speaks against it.
 */
function vitrine_reason_to_wait() {
	if ( vitrine_waited_seconds() >= VITRINE_PAGE_SECONDS ) {
		return __( 'This page has waited for the Vitrine server long enough. The box is asked for on the next visit.', 'vitrine' );
	}
	return vitrine_pause_note( get_transient( vitrine_pause_name() ) );
}

/**
 * Whether the server may be asked, once nothing speaks against it. After a pause only the first request may, until it
 * knows more.
 *
 * @return bool
 */
function vitrine_may_ask() {
	$name  = vitrine_pause_name();
	$pause = get_transient( $name );
	if ( ! is_array( $pause ) ) {
		return true;
	}
	if ( ! vitrine_take_lock( 'vitrine_lock_trial' ) ) {
		return false;
	}
	$is_first = '' === vitrine_pause_note( vitrine_read_again( $name ) );
	if ( $is_first ) {
		vitrine_begin_pause( isset( $pause['note'] ) ? $pause['note'] : '' );
	}
	vitrine_release_lock( 'vitrine_lock_trial' );
	return $is_first;
}
