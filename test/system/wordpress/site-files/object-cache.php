<?php
/**
 * Tells WordPress that it has a persistent object cache; place.php brings it.
 */
require_once ABSPATH . WPINC . '/cache.php';
