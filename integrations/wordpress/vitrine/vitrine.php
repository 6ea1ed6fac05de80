<?php
/**
 * Plugin Name:       Vitrine
 * Description:       Where-to-buy boxes, round-ups and deal grids of your Vitrine server, as a shortcode, a block or a plain link.
 * Version:           1.0.0
 * Requires at least: 6.1
 * Requires PHP:      7.4
 * Author:            The Vitrine contributors
 * License:           MIT
 * License URI:       https://opensource.org/license/mit
 * Text Domain:       vitrine
 *
 * @package Vitrine
 */

defined( 'ABSPATH' ) || exit;

define( 'VITRINE_FILE', __FILE__ );
define( 'VITRINE_VERSION', '1.0.0' );

require_once __DIR__ . '/includes/clock.php';
require_once __DIR__ . '/includes/settings.php';
require_once __DIR__ . '/includes/placement.php';
require_once __DIR__ . '/includes/options.php';
require_once __DIR__ . '/includes/address.php';
require_once __DIR__ . '/includes/locks.php';
require_once __DIR__ . '/includes/pause.php';
require_once __DIR__ . '/includes/fetch.php';
require_once __DIR__ . '/includes/boxes.php';
require_once __DIR__ . '/includes/context.php';
require_once __DIR__ . '/includes/placeholders.php';
require_once __DIR__ . '/includes/preview.php';
require_once __DIR__ . '/includes/render.php';
require_once __DIR__ . '/includes/links.php';

if ( is_admin() ) {
	require_once __DIR__ . '/includes/health.php';
	require_once __DIR__ . '/includes/settings-page.php';
}
