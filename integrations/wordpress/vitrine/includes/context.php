<?php
/**
 * Where content is rendered, and whether boxes are shown there.
 *
 * Mails, feeds and federated posts keep their prices for months and have no style sheet, and some affiliate networks forbid
 * links in mails. An excerpt would have the text of the box without its links.
 *
 * @package Vitrine
 */

defined( 'ABSPATH' ) || exit;

/**
 * Whether the ActivityPub plugin renders a post.
 *
 * @param bool|null $new_value New value, if not null.
 * @return bool
 */
function vitrine_is_federated( $new_value = null ) {
	static $is_federated = false;
	if ( null !== $new_value ) {
		$is_federated = $new_value;
	}
	return $is_federated;
}

/**
 * Records that the ActivityPub plugin starts to render a post.
 */
function vitrine_begin_federated() {
	vitrine_is_federated( true );
}
add_action( 'activitypub_before_get_content', 'vitrine_begin_federated' );

/**
 * Records that the ActivityPub plugin has rendered a post.
 *
 * @param string $content Returned unchanged.
 * @return string
 */
function vitrine_end_federated( $content ) {
	vitrine_is_federated( false );
	return $content;
}
add_filter( 'activitypub_the_content', 'vitrine_end_federated', PHP_INT_MIN );

/**
 * Returns the context in which content is rendered.
 *
 * WordPress parses only requests for pages, feeds, REST and GraphQL, so scripts, WP-CLI and XML-RPC are `other`. So are
 * REST requests that write, and code that runs after the page: both may send mails.
 *
 * @return string `page`, `rest`, `ajax`, `preview`, `feed`, `excerpt`, `activitypub`, `cron` or `other`.
 */
function vitrine_context() {
	$is_rest = defined( 'REST_REQUEST' ) && REST_REQUEST;
	$is_read = isset( $_SERVER['REQUEST_METHOD'] ) && 'GET' === $_SERVER['REQUEST_METHOD'];
	$is_over = did_action( 'shutdown' ) && ! vitrine_is_buffered();
	$is_main = did_action( 'parse_request' ) || did_action( 'template_redirect' );
	$cases   = array(
		'activitypub' => vitrine_is_federated(),
		'cron'        => wp_doing_cron(),
		'feed'        => is_feed(),
		'excerpt'     => doing_filter( 'get_the_excerpt' ),
		'preview'     => vitrine_is_block_preview(),
		'rest'        => $is_rest && $is_read && ! $is_over,
		'ajax'        => wp_doing_ajax() && ! $is_over,
		'page'        => $is_main && ! is_admin() && ! $is_rest && ! $is_over,
	);
	return (string) array_search( true, $cases + array( 'other' => true ), true );
}

/**
 * Whether boxes are shown in the current context.
 *
 * @return bool
 */
function vitrine_shows_boxes() {
	$context = vitrine_context();
	/**
	 * Filters whether boxes are shown.
	 *
	 * @param bool   $shows   Whether they are shown.
	 * @param string $context See vitrine_context().
	 */
	return (bool) apply_filters( 'vitrine_shows_boxes', in_array( $context, array( 'page', 'rest', 'ajax', 'preview' ), true ), $context );
}
