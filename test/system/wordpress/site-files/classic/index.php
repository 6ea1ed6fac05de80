<!doctype html><html><head><meta charset="utf-8"><title>host</title><?php wp_head(); ?></head><body><p>HOST-HEAD</p>
<?php
while ( have_posts() ) :
	the_post();
	?>
<main>BOX(<?php is_search() ? the_excerpt() : the_content(); ?>)BOX</main>
<?php endwhile; ?>
<p>HOST-FOOT</p><?php wp_footer(); ?></body></html>
