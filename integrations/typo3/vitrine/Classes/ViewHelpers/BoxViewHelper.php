<?php

declare(strict_types=1);

namespace Vitrine\Typo3\ViewHelpers;

use TYPO3\CMS\Core\Core\Environment;
use TYPO3Fluid\Fluid\Core\ViewHelper\AbstractViewHelper;

/**
 * A box, round-up or deal grid of a Vitrine server:
 *
 *     <vitrine:box url="https://widgets.example/fragments/CHANNEL/where-to-buy/{product.gtin}" />
 *
 * Prints nothing if there is nothing to show. integrations/php/vitrine.php sends and caches the requests.
 */
final class BoxViewHelper extends AbstractViewHelper
{
    /** The server escapes its HTML. */
    protected $escapeOutput = false;

    public function initializeArguments(): void
    {
        $this->registerArgument('url', 'string', 'Address of a fragment', true);
    }

    public function render(): string
    {
        return vitrine_box((string) $this->arguments['url'], Environment::getVarPath() . '/vitrine');
    }
}
