<?php
/**
 * Boxes and how long they are kept.
 *
 * A box is a transient of its own, named after its whole address: another server or channel is another box.
 *
 * @package Vitrine
 */

defined( 'ABSPATH' ) || exit;

/**
 * A box: fresh from the transient, asked for, or the last good one.
 *
 * @param string $address Address of the fragment.
 * @return array {
 *     @type string $html The fragment as it came, or empty.
 *     @type string $note Why it is empty, in words for an editor.
 * }
 */
function vitrine_get_box( $address ) {
	$name = 'vitrine_box_' . md5( $address );
	$kept = vitrine_parse_kept( get_transient( $name ) );
	if ( vitrine_now() < $kept['ask_at'] ) {
		return $kept;
	}
	$why = vitrine_reason_to_wait();
	if ( '' !== $why ) {
		return vitrine_explain( $kept, $why );
	}
	$lock = 'vitrine_lock_' . md5( $address );
	if ( ! vitrine_take_lock( $lock ) ) {
		return vitrine_explain( $kept, __( 'The box is being asked for at this moment.', 'vitrine' ) );
	}
	try {
		$kept = vitrine_parse_kept( vitrine_read_again( $name ) );
		if ( vitrine_now() < $kept['ask_at'] ) {
			return $kept;
		}
		if ( ! vitrine_may_ask() ) {
			return vitrine_explain( $kept, vitrine_reason_to_wait() );
		}
		return vitrine_take_answer( $name, $kept, vitrine_fetch( $address ) );
	} finally {
		vitrine_release_lock( $lock );
	}
}

/**
 * Stores what an answer means, and gives what is to be shown after it.
 *
 * @param string $name   Name of the transient.
 * @param array  $kept   The last good box.
 * @param array  $answer See vitrine_judge().
 * @return array The box.
 */
function vitrine_take_answer( $name, $kept, $answer ) {
	if ( 'down' === $answer['outcome'] ) {
		vitrine_begin_pause( $answer['note'] );
		return vitrine_explain( $kept, $answer['note'] );
	}
	vitrine_end_pause();
	$now = vitrine_now();
	if ( 'failed' === $answer['outcome'] ) {
		$kept           = vitrine_explain( $kept, $answer['note'] );
		$kept['ask_at'] = $now + $answer['fresh_seconds'];
	} else {
		$kept = array(
			'html'       => $answer['html'],
			'note'       => $answer['note'],
			'ask_at'     => $now + $answer['fresh_seconds'],
			'keep_until' => $now + $answer['fresh_seconds'] + $answer['keep_seconds'],
		);
	}
	vitrine_store_kept( $name, $kept );
	return $kept;
}

/**
 * Stores a box. JSON keeps it in ASCII: tables in an old character set would refuse some letters.
 *
 * @param string $name Name of the transient.
 * @param array  $kept The box.
 */
function vitrine_store_kept( $name, $kept ) {
	$seconds = max( $kept['ask_at'], $kept['keep_until'] ) - vitrine_now();
	set_transient( $name, wp_json_encode( $kept, JSON_UNESCAPED_SLASHES ), max( 1, $seconds ) );
}

/**
 * A stored box. One that is too old to be shown is empty.
 *
 * @param mixed $stored What the transient holds.
 * @return array The box, with the times at which to ask again and until which to show it.
 */
function vitrine_parse_kept( $stored ) {
	$empty = array(
		'html'       => '',
		'note'       => '',
		'ask_at'     => 0,
		'keep_until' => 0,
	);
	$kept  = is_string( $stored ) ? json_decode( $stored, true ) : null;
	if ( ! is_array( $kept ) || array_diff_key( $empty, $kept ) ) {
		return $empty;
	}
	if ( vitrine_now() >= $kept['keep_until'] ) {
		$kept['html'] = '';
	}
	return $kept;
}

/**
 * A box with the reason why it is not a newer one.
 *
 * @param array  $kept The last good box.
 * @param string $note Why, in words for an editor.
 * @return array
 */
function vitrine_explain( $kept, $note ) {
	if ( '' !== $note ) {
		$kept['note'] = $note;
	}
	return $kept;
}
