<?php

declare(strict_types=1);

namespace Drupal\vitrine\Plugin\Block;

use Drupal\Core\Block\BlockBase;
use Drupal\Core\Form\FormStateInterface;
use Drupal\Core\Plugin\ContainerFactoryPluginInterface;
use Drupal\Core\Render\Markup;
use Drupal\Core\Routing\RouteMatchInterface;
use Drupal\Core\Site\Settings;
use Drupal\node\NodeInterface;
use Symfony\Component\DependencyInjection\ContainerInterface;

require_once dirname(__DIR__, 3) . '/vitrine.php';

/**
 * A box, a round-up or a grid; renders nothing when there is nothing to show.
 *
 * @Block(
 *   id = "vitrine_box",
 *   admin_label = @Translation("Vitrine"),
 *   category = @Translation("Vitrine")
 * )
 */
final class VitrineBlock extends BlockBase implements ContainerFactoryPluginInterface
{
    /** Lifetime of the rendered block in Drupal's cache; the helper caches the box for as long as the server allows. */
    private const MAX_AGE_SECONDS = 60;

    /** Valid settings. */
    private const PATTERNS = [
        'channel' => '/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/Di',
        'gtin' => '/^(?:[0-9]{1,14}(?:[,~][0-9]{1,14})*)?$/D',
        'options' => '/^[A-Za-z0-9_.,~%=&+:!*()-]*$/D',
    ];

    private RouteMatchInterface $routeMatch;

    public static function create(ContainerInterface $container, array $configuration, $plugin_id, $plugin_definition)
    {
        $block = new static($configuration, $plugin_id, $plugin_definition);
        $block->routeMatch = $container->get('current_route_match');
        return $block;
    }

    public function defaultConfiguration(): array
    {
        return ['channel' => '', 'gtin' => '', 'gtin_field' => '', 'options' => ''];
    }

    public function blockForm($form, FormStateInterface $form_state): array
    {
        $fields = [
            'channel' => ['Channel', 'The id of the channel, as the studio of the Vitrine server shows it.'],
            'gtin' => ['GTIN', 'Shows where to buy this product. Variants of the product: 17~18. A round-up of several products: 17,18,19.'],
            'gtin_field' => ['GTIN field', 'Machine name of a field, for example field_gtin. Shows where to buy the product whose GTIN is in this field of the current content, or the round-up of several GTINs. Without a GTIN and a field, the block shows the deals of the channel.'],
            'options' => ['Options', 'Query parameters, for example layout=card&theme=dark.'],
        ];
        foreach ($fields as $name => [$title, $description]) {
            $form[$name] = [
                '#type' => 'textfield',
                '#title' => $this->t($title),
                '#description' => $this->t($description),
                '#default_value' => $this->configuration[$name],
                '#maxlength' => 1024,
                '#required' => $name === 'channel',
            ];
        }
        if (self::getServer() === null) {
            $form['channel']['#description'] = $this->t('No Vitrine server is configured, so the block stays empty. Set $settings[\'vitrine_server\'] in settings.php.');
        }
        return $form;
    }

    public function blockValidate($form, FormStateInterface $form_state): void
    {
        $messages = [
            'channel' => 'The channel must be an id of 36 characters.',
            'gtin' => 'A GTIN has 1 to 14 digits. Separate variants by ~ and the products of a round-up by commas.',
            'options' => 'Write options as name=value, joined by &, with other characters percent-encoded.',
        ];
        foreach ($messages as $name => $message) {
            if (preg_match(self::PATTERNS[$name], self::normalize((string) $form_state->getValue($name), $name)) !== 1) {
                $form_state->setErrorByName($name, $this->t($message));
            }
        }
    }

    public function blockSubmit($form, FormStateInterface $form_state): void
    {
        foreach (array_keys($this->defaultConfiguration()) as $name) {
            $this->configuration[$name] = self::normalize((string) $form_state->getValue($name), $name);
        }
    }

    public function build(): array
    {
        $node = $this->routeMatch->getParameter('node');
        $node = $node instanceof NodeInterface ? $node : null;
        $build = ['#cache' => [
            'max-age' => self::MAX_AGE_SECONDS,
            'contexts' => ['route'],
            'tags' => $node === null ? [] : $node->getCacheTags(),
        ]];
        $address = $this->toAddress($node);
        $html = $address === null ? '' : vitrine_box($address);
        // Without markup, Drupal omits the block and its title.
        return $html === '' ? $build : $build + ['#markup' => Markup::create($html)];
    }

    /** Returns a value without the spaces around it, and around the separators of GTINs. */
    private static function normalize(string $value, string $name): string
    {
        return trim($name === 'gtin' ? (string) preg_replace('/\s*([,~])\s*/', '$1', $value) : $value);
    }

    /**
     * Returns the server of settings.php, without a trailing slash; null without a valid one.
     *
     * The block prints what the server sends, so users who may place blocks must not choose the server.
     */
    private static function getServer(): ?string
    {
        $server = rtrim(trim((string) Settings::get('vitrine_server', '')), '/');
        return preg_match('~^https?://[^/?#@\s]+(?:/[^?#\s]*)?$~i', $server) === 1 ? $server : null;
    }

    /** Returns null if the settings are invalid, or if this page has no GTIN in the field. */
    private function toAddress(?NodeInterface $node): ?string
    {
        $server = self::getServer();
        $settings = $this->configuration;
        foreach (self::PATTERNS as $name => $pattern) {
            if (preg_match($pattern, $settings[$name]) !== 1) {
                return null;
            }
        }
        $gtin = $settings['gtin'];
        $field = $settings['gtin_field'];
        if ($gtin === '' && $field !== '') {
            $gtin = $node !== null && $node->hasField($field) ? self::normalize((string) $node->get($field)->value, 'gtin') : '';
            if ($gtin === '') {
                return null;
            }
        }
        if ($server === null) {
            return null;
        }
        $isRoundUp = strpos($gtin, ',') !== false;
        $products = ($isRoundUp ? 'picks/' : 'where-to-buy/') . str_replace('%2C', ',', rawurlencode($gtin));
        $widget = $gtin === '' ? 'deals' : $products;
        $query = $settings['options'] === '' ? '' : '?' . $settings['options'];
        return $server . '/fragments/' . $settings['channel'] . '/' . $widget . $query;
    }
}
