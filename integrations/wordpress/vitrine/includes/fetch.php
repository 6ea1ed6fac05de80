<?php
/**
 * Requests a fragment and classifies the response.
 *
 * @package Vitrine
 */

defined( 'ABSPATH' ) || exit;

/** Limit for the size of a box: more than twice the largest round-up, with 20 shops for each of 20 products. */
const VITRINE_MAX_BYTES = 1048576;

/** Read beyond the limit, to detect a larger response. Without cURL, WordPress counts the headers too. */
const VITRINE_HEADERS_MAX_BYTES = 65536;

/**
 * Returns how long this page view has waited for the server.
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
 * Requests a fragment.
 *
 * @param string $address Address of the fragment.
 * @return array See vitrine_classify_response().
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
	return vitrine_classify_response( $response );
}

/**
 * Classifies a response.
 *
 * `outcome` is `box` (empty HTML: nothing to show), `failed` (this box only) or `down` (the whole server).
 *
 * @param array|WP_Error $response Response of the HTTP API.
 * @return array {
 *     @type string $outcome       `box`, `failed` or `down`.
 *     @type string $html          The unchanged fragment.
 *     @type string $note          Message for editors: why there is nothing to show.
 *     @type int    $fresh_seconds Time until the next request.
 *     @type int    $keep_seconds  How long after that the box may be shown while the server fails.
 * }
 */
function vitrine_classify_response( $response ) {
	if ( is_wp_error( $response ) ) {
		/* translators: %s: message of the HTTP library. */
		return vitrine_failure( 'down', sprintf( __( 'The Vitrine server did not respond: %s', 'vitrine' ), $response->get_error_message() ) );
	}
	$code = (int) wp_remote_retrieve_response_code( $response );
	$body = (string) wp_remote_retrieve_body( $response );
	if ( 200 !== $code ) {
		return vitrine_failure( $code >= 500 || 429 === $code ? 'down' : 'failed', vitrine_status_message( $code, $response ) );
	}
	$caching = strtolower( vitrine_header( $response, 'cache-control' ) );
	if ( preg_match( '/(?:^|,)\s*no-store\s*(?:,|$)/', $caching ) ) {
		return vitrine_failure( 'failed', __( 'The Vitrine server has no prices for this box at the moment.', 'vitrine' ) );
	}
	if ( strlen( $body ) > VITRINE_MAX_BYTES ) {
		return vitrine_failure( 'failed', __( 'The response is too large for a box. Check that the address is that of a Vitrine server.', 'vitrine' ) );
	}
	if ( vitrine_is_truncated( $response, $body ) ) {
		return vitrine_failure( 'failed', __( 'The response of the Vitrine server was cut off.', 'vitrine' ) );
	}
	if ( '' !== $body && ( '<' !== $body[0] || ! preg_match( '//u', $body ) ) ) {
		return vitrine_failure( 'failed', __( 'The response is not a box. Check that the address is that of a Vitrine server.', 'vitrine' ) );
	}
	return array(
		'outcome'       => 'box',
		'html'          => $body,
		'note'          => '' === $body ? vitrine_response_message( $response ) : '',
		'fresh_seconds' => vitrine_fresh_seconds( $response, $caching ),
		'keep_seconds'  => vitrine_directive( $caching, 'stale-if-error', VITRINE_KEEP_SECONDS, array( 0, VITRINE_KEEP_SECONDS ) ),
	);
}

/**
 * Whether a response is shorter than its Content-Length. cURL checks this itself; the fallback of WordPress does not.
 *
 * @param array  $response Response of the HTTP API.
 * @param string $body     Its decompressed body.
 * @return bool
 */
function vitrine_is_truncated( $response, $body ) {
	return '' === vitrine_header( $response, 'content-encoding' ) && strlen( $body ) < absint( vitrine_header( $response, 'content-length' ) );
}

/**
 * Builds the result for a failure.
 *
 * @param string $outcome `failed` or `down`.
 * @param string $note    Message for editors.
 * @return array
 */
function vitrine_failure( $outcome, $note ) {
	return array(
		'outcome'       => $outcome,
		'html'          => '',
		'note'          => $note,
		'fresh_seconds' => VITRINE_RETRY_SECONDS,
		'keep_seconds'  => 0,
	);
}

/**
 * Returns a header; joins the values of a repeated one.
 *
 * @param array  $response Response of the HTTP API.
 * @param string $name     Name in lower case.
 * @return string
 */
function vitrine_header( $response, $name ) {
	return implode( ', ', (array) wp_remote_retrieve_header( $response, $name ) );
}

/**
 * Returns the server's message: an error, or why there is nothing to show.
 *
 * @param array $response Response of the HTTP API.
 * @return string
 */
function vitrine_response_message( $response ) {
	foreach ( array( 'vitrine-error', 'vitrine-reason' ) as $name ) {
		$message = vitrine_header( $response, $name );
		if ( '' !== $message ) {
			return $message;
		}
	}
	$is_comment = preg_match( '/^<!--\s*(?:Vitrine:\s*)?(.{1,1000}?)\s*-->\s*$/s', (string) wp_remote_retrieve_body( $response ), $found );
	return $is_comment ? $found[1] : '';
}

/**
 * Returns a message for a status other than 200.
 *
 * @param int   $code     HTTP status.
 * @param array $response Response of the HTTP API.
 * @return string
 */
function vitrine_status_message( $code, $response ) {
	$message = vitrine_response_message( $response );
	if ( '' !== $message ) {
		return $message;
	}
	/* translators: %d: HTTP status, such as 500. */
	return sprintf( __( 'The Vitrine server responded with status %d.', 'vitrine' ), $code );
}

/**
 * Returns a number of a Cache-Control header, limited to bounds.
 *
 * @param string $caching The header in lower case.
 * @param string $name    Name of the directive.
 * @param int    $absent  Value without the directive.
 * @param int[]  $bounds  Minimum and maximum.
 * @return int
 */
function vitrine_directive( $caching, $name, $absent, $bounds ) {
	$is_there = preg_match( '/(?:^|[,\s])' . preg_quote( $name, '/' ) . '\s*=\s*"?(\d{1,9})/', $caching, $found );
	return max( $bounds[0], min( $bounds[1], $is_there ? (int) $found[1] : $absent ) );
}

/**
 * Returns how long a response is fresh: its max-age minus its Age.
 *
 * @param array  $response Response of the HTTP API.
 * @param string $caching  Its Cache-Control in lower case.
 * @return int
 */
function vitrine_fresh_seconds( $response, $caching ) {
	$fresh = vitrine_directive( $caching, 'max-age', 0, array( 0, VITRINE_FRESH_MAX_SECONDS ) );
	return max( VITRINE_FRESH_MIN_SECONDS, $fresh - absint( vitrine_header( $response, 'age' ) ) );
}
