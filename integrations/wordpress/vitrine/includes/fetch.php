<?php
/**
 * One request to the server, and what its answer means.
 *
 * @package Vitrine
 */

defined( 'ABSPATH' ) || exit;

/** A box is at most this large: several times the largest grid. */
const VITRINE_MAX_BYTES = 524288;

/** What is read beyond it, to see that it is larger. Without cURL WordPress counts the headers too. */
const VITRINE_HEADERS_MAX_BYTES = 65536;

/**
 * How long this page view has waited for the server so far.
 *
 * @param float $more Seconds to add.
 * @return float
 */
function vitrine_waited_seconds( $more = 0.0 ) {
	static $waited = 0.0;
	$waited       += $more;
	return $waited;
}

/**
 * Asks for a fragment.
 *
 * @param string $address Address of the fragment.
 * @return array See vitrine_judge().
 */
function vitrine_fetch( $address ) {
	$begun    = microtime( true );
	$response = wp_remote_get(
		$address,
		array(
			'timeout'             => VITRINE_DEADLINE_SECONDS,
			'redirection'         => 0,
			'limit_response_size' => VITRINE_MAX_BYTES + VITRINE_HEADERS_MAX_BYTES,
			'cookies'             => array(),
			'headers'             => array( 'Accept' => 'text/html' ),
		)
	);
	vitrine_waited_seconds( microtime( true ) - $begun );
	return vitrine_judge( $response );
}

/**
 * What an answer means.
 *
 * `outcome` is `box` (html may be empty: nothing to show), `failed` (this box only), or `down` (the server as a whole).
 *
 * @param array|WP_Error $response Answer of the HTTP API.
 * @return array {
 *     @type string $outcome       `box`, `failed` or `down`.
 *     @type string $html          The fragment as it came.
 *     @type string $note          Why there is nothing to show, in words for an editor.
 *     @type int    $fresh_seconds How long nobody needs to ask again.
 *     @type int    $keep_seconds  How long after that the box may be shown while the server fails.
 * }
 */
function vitrine_judge( $response ) {
	if ( is_wp_error( $response ) ) {
		/* translators: %s: message of the HTTP library. */
		return vitrine_failed( 'down', sprintf( __( 'The Vitrine server did not answer: %s', 'vitrine' ), $response->get_error_message() ) );
	}
	$code = (int) wp_remote_retrieve_response_code( $response );
	$body = (string) wp_remote_retrieve_body( $response );
	if ( 200 !== $code ) {
		return vitrine_failed( $code >= 500 || 429 === $code ? 'down' : 'failed', vitrine_note_of_status( $code, $response ) );
	}
	$caching = strtolower( vitrine_header( $response, 'cache-control' ) );
	if ( preg_match( '/(?:^|,)\s*no-store\s*(?:,|$)/', $caching ) ) {
		return vitrine_failed( 'failed', __( 'The Vitrine server has no prices of this box at the moment.', 'vitrine' ) );
	}
	if ( strlen( $body ) > VITRINE_MAX_BYTES ) {
		return vitrine_failed( 'failed', __( 'The answer is larger than a box can be. Is this the address of a Vitrine server?', 'vitrine' ) );
	}
	if ( vitrine_is_cut( $response, $body ) ) {
		return vitrine_failed( 'failed', __( 'The answer of the Vitrine server broke off.', 'vitrine' ) );
	}
	if ( '' !== $body && ( '<' !== $body[0] || ! preg_match( '//u', $body ) ) ) {
		return vitrine_failed( 'failed', __( 'The answer is not a box. Is this the address of a Vitrine server?', 'vitrine' ) );
	}
	return array(
		'outcome'       => 'box',
		'html'          => $body,
		'note'          => '' === $body ? vitrine_words_of( $response ) : '',
		'fresh_seconds' => vitrine_fresh_seconds( $response, $caching ),
		'keep_seconds'  => vitrine_directive( $caching, 'stale-if-error', VITRINE_KEEP_SECONDS, array( 0, VITRINE_KEEP_SECONDS ) ),
	);
}

/**
 * Whether an answer is shorter than it says. cURL finds that itself; what WordPress uses in its absence does not.
 *
 * @param array  $response Answer of the HTTP API.
 * @param string $body     Its body, unpacked.
 * @return bool
 */
function vitrine_is_cut( $response, $body ) {
	return '' === vitrine_header( $response, 'content-encoding' ) && strlen( $body ) < absint( vitrine_header( $response, 'content-length' ) );
}

/**
 * A failure in the form of an answer.
 *
 * @param string $outcome Which kind: `failed` or `down`.
 * @param string $note    Why, in words for an editor.
 * @return array
 */
function vitrine_failed( $outcome, $note ) {
	return array(
		'outcome'       => $outcome,
		'html'          => '',
		'note'          => $note,
		'fresh_seconds' => VITRINE_RETRY_SECONDS,
		'keep_seconds'  => 0,
	);
}

/**
 * A header as one text, also when it was sent twice.
 *
 * @param array  $response Answer of the HTTP API.
 * @param string $name     Name in lower case.
 * @return string
 */
function vitrine_header( $response, $name ) {
	return implode( ', ', (array) wp_remote_retrieve_header( $response, $name ) );
}

/**
 * What the server says of the answer: a mistake, or why there is nothing to show.
 *
 * @param array $response Answer of the HTTP API.
 * @return string
 */
function vitrine_words_of( $response ) {
	foreach ( array( 'vitrine-error', 'vitrine-reason' ) as $name ) {
		$words = vitrine_header( $response, $name );
		if ( '' !== $words ) {
			return $words;
		}
	}
	$is_comment = preg_match( '/^<!--\s*(?:Vitrine:\s*)?(.{1,1000}?)\s*-->\s*$/s', (string) wp_remote_retrieve_body( $response ), $found );
	return $is_comment ? $found[1] : '';
}

/**
 * Words for an answer other than 200.
 *
 * @param int   $code     Its status.
 * @param array $response Answer of the HTTP API.
 * @return string
 */
function vitrine_note_of_status( $code, $response ) {
	$words = vitrine_words_of( $response );
	if ( '' !== $words ) {
		return $words;
	}
	/* translators: %d: HTTP status, such as 500. */
	return sprintf( __( 'The Vitrine server answered with the status %d.', 'vitrine' ), $code );
}

/**
 * A number of a Cache-Control header, within bounds.
 *
 * @param string $caching The header in lower case.
 * @param string $name    Name of the directive.
 * @param int    $absent  What holds without it.
 * @param int[]  $bounds  Least and greatest value.
 * @return int
 */
function vitrine_directive( $caching, $name, $absent, $bounds ) {
	$is_there = preg_match( '/(?:^|[,\s])' . preg_quote( $name, '/' ) . '\s*=\s*"?(\d{1,9})/', $caching, $found );
	return max( $bounds[0], min( $bounds[1], $is_there ? (int) $found[1] : $absent ) );
}

/**
 * How long an answer is fresh: its max-age without the age that it brought.
 *
 * @param array  $response Answer of the HTTP API.
 * @param string $caching  Its Cache-Control in lower case.
 * @return int
 */
function vitrine_fresh_seconds( $response, $caching ) {
	$fresh = vitrine_directive( $caching, 'max-age', 0, array( 0, VITRINE_FRESH_MAX_SECONDS ) );
	return max( VITRINE_FRESH_MIN_SECONDS, $fresh - absint( vitrine_header( $response, 'age' ) ) );
}
