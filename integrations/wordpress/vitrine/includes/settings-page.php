<?php
/**
 * The page "Settings, Vitrine".
 *
 * @package Vitrine
 */

defined( 'ABSPATH' ) || exit;

/**
 * Adds the page to the menu.
 */
function vitrine_add_settings_page() {
	add_options_page( __( 'Vitrine', 'vitrine' ), __( 'Vitrine', 'vitrine' ), 'manage_options', 'vitrine', 'vitrine_render_settings_page' );
}
add_action( 'admin_menu', 'vitrine_add_settings_page' );

/**
 * Adds the fields.
 */
function vitrine_add_settings_fields() {
	$lock = vitrine_server_lock_reason();
	add_settings_section( 'vitrine_main', '', '__return_null', 'vitrine' );
	add_settings_field(
		'vitrine_server',
		__( 'Server address', 'vitrine' ),
		'vitrine_render_field',
		'vitrine',
		'vitrine_main',
		array(
			'name'        => 'server',
			'type'        => 'url',
			'label_for'   => 'vitrine_server',
			'placeholder' => 'https://widgets.example',
			'description' => '' === $lock ? __( 'The address of your Vitrine server, with its path if it has one.', 'vitrine' ) : $lock,
			'is_locked'   => '' !== $lock,
		)
	);
	add_settings_field(
		'vitrine_channel',
		__( 'Default channel', 'vitrine' ),
		'vitrine_render_field',
		'vitrine',
		'vitrine_main',
		array(
			'name'        => 'channel',
			'type'        => 'text',
			'label_for'   => 'vitrine_channel',
			'placeholder' => '00000000-0000-4000-8000-000000000000',
			'is_locked'   => false,
			'description' => __( 'The channel id for boxes without their own. The studio of the server shows it.', 'vitrine' ),
		)
	);
}
add_action( 'admin_init', 'vitrine_add_settings_fields' );

/**
 * Prints one field.
 *
 * @param array $field See vitrine_add_settings_fields().
 */
function vitrine_render_field( $field ) {
	printf(
		'<input class="regular-text code" type="%1$s" id="%2$s" name="%3$s[%4$s]" value="%5$s" placeholder="%6$s"%7$s /><p class="description">%8$s</p>',
		esc_attr( $field['type'] ),
		esc_attr( $field['label_for'] ),
		esc_attr( VITRINE_SETTINGS ),
		esc_attr( $field['name'] ),
		esc_attr( vitrine_setting( $field['name'] ) ),
		esc_attr( $field['placeholder'] ),
		disabled( $field['is_locked'], true, false ),
		esc_html( $field['description'] )
	);
}

/**
 * Checks the server and prints the result, for users who may change the server. Others must not trigger the request.
 */
function vitrine_render_check() {
	if ( ! current_user_can( 'unfiltered_html' ) ) {
		return;
	}
	$result = vitrine_check_server();
	printf(
		'<div class="notice inline %1$s" id="vitrine-try"><p>%2$s</p></div>',
		esc_attr( $result['is_good'] ? 'notice-success' : 'notice-warning' ),
		esc_html( $result['message'] )
	);
}

/**
 * Prints the page.
 */
function vitrine_render_settings_page() {
	if ( ! current_user_can( 'manage_options' ) ) {
		return;
	}
	?>
	<div class="wrap">
		<h1><?php echo esc_html( get_admin_page_title() ); ?></h1>
		<?php vitrine_render_check(); ?>
		<form action="options.php" method="post">
			<?php
			settings_fields( 'vitrine' );
			do_settings_sections( 'vitrine' );
			submit_button();
			?>
		</form>
	</div>
	<?php
}

/**
 * Adds a link to the page in the list of plugins.
 *
 * @param string[] $links Links of the plugin.
 * @return string[]
 */
function vitrine_add_settings_link( $links ) {
	$url = admin_url( 'options-general.php?page=vitrine' );
	array_unshift( $links, '<a href="' . esc_url( $url ) . '">' . esc_html__( 'Settings', 'vitrine' ) . '</a>' );
	return $links;
}
add_filter( 'plugin_action_links_' . plugin_basename( VITRINE_FILE ), 'vitrine_add_settings_link' );
