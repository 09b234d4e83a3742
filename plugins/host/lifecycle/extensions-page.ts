import type { DebugPage } from '@homeostat/apiserver';
import type { PointSummary } from '../exchange/extension-table.ts';

/**
 * `/debug/extensions`: the extension points of all running plugins. Each point lists the contributing plugins; a plugin
 * with two contributions appears twice.
 */
export function extensionsPage(points: () => readonly PointSummary[]): DebugPage {
  return { name: 'extensions', index: () => ({ items: points() }), item: () => undefined };
}
