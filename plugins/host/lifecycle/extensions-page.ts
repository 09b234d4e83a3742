import type { DebugPage } from '@homeostat/apiserver';
import type { PointSummary } from '../exchange/extension-table.ts';

/**
 * `/debug/extensions`: the extension points of all running plugins, with the plugins that contribute to each, once for
 * each contribution.
 */
export function extensionsPage(points: () => readonly PointSummary[]): DebugPage {
  return { name: 'extensions', index: () => ({ items: points() }), item: () => undefined };
}
