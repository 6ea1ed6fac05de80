<?php

declare(strict_types=1);

namespace Drupal\vitrine\Plugin\Block;

use Drupal\Core\Block\BlockBase;
use Drupal\Core\Form\FormStateInterface;
use Drupal\Core\Plugin\ContainerFactoryPluginInterface;
use Drupal\Core\Render\Markup;
use Drupal\Core\Routing\RouteMatchInterface;
use Drupal\node\NodeInterface;
use Symfony\Component\DependencyInjection\ContainerInterface;

require_once dirname(__DIR__, 3) . '/vitrine.php';

/**
 * A box or a grid; nothing at all when there is nothing to show.
 *
 * @Block(
 *   id = "vitrine_box",
 *   admin_label = @Translation("Vitrine"),
 *   category = @Translation("Vitrine")
 * )
 */
final class VitrineBlock extends BlockBase implements ContainerFactoryPluginInterface
{
    /** How long Drupal keeps what this block gave; the helper keeps the box itself for as long as the server allows. */
    private const MAX_AGE_SECONDS = 60;

    private RouteMatchInterface $routeMatch;

    public static function create(ContainerInterface $container, array $configuration, $plugin_id, $plugin_definition)
    {
        $block = new static($configuration, $plugin_id, $plugin_definition);
        $block->routeMatch = $container->get('current_route_match');
        return $block;
    }

    public function defaultConfiguration(): array
    {
        return ['address' => '', 'gtin_field' => ''];
    }

    public function blockForm($form, FormStateInterface $form_state): array
    {
        $form['address'] = [
            '#type' => 'textfield',
            '#title' => $this->t('Address of the fragment'),
            '#description' => $this->t('https://widgets.example/fragments/CHANNEL/where-to-buy/{gtin} takes the GTIN from the field below.'),
            '#default_value' => $this->configuration['address'],
            '#maxlength' => 2048,
            '#required' => true,
        ];
        $form['gtin_field'] = [
            '#type' => 'textfield',
            '#title' => $this->t('Field with the GTIN'),
            '#description' => $this->t('Machine name of a field of the content on whose page the block stands, for example field_gtin.'),
            '#default_value' => $this->configuration['gtin_field'],
        ];
        return $form;
    }

    public function blockSubmit($form, FormStateInterface $form_state): void
    {
        $this->configuration['address'] = trim((string) $form_state->getValue('address'));
        $this->configuration['gtin_field'] = trim((string) $form_state->getValue('gtin_field'));
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
        // A block without content is not placed, and neither is its title.
        return $html === '' ? $build : $build + ['#markup' => Markup::create($html)];
    }

    /** Null: the address wants a GTIN and this page has none. */
    private function toAddress(?NodeInterface $node): ?string
    {
        $address = $this->configuration['address'];
        if (strpos($address, '{gtin}') === false) {
            return $address;
        }
        $field = $this->configuration['gtin_field'];
        if ($node === null || $field === '' || !$node->hasField($field)) {
            return null;
        }
        $gtin = trim((string) $node->get($field)->value);
        return $gtin === '' ? null : str_replace('{gtin}', rawurlencode($gtin), $address);
    }
}
