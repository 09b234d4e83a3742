import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Returns the links of a page that lead to missing files or headings. */
export function brokenLinks(path: string): readonly string[] {
  const targets = [...proseOf(path).matchAll(/\]\((?!https?:)([^)\s]*)\)/g)].map(([, target = '']) => target);
  return targets.filter((target) => !leadsSomewhere(path, target));
}

function leadsSomewhere(page: string, target: string): boolean {
  const [path = '', anchor] = target.split('#');
  const file = path === '' ? page : join(dirname(page), path);
  if (!existsSync(file)) return false;
  return anchor === undefined || headingsOf(file).includes(anchor);
}

/** Returns the anchors that GitHub makes from the headings of a page. */
function headingsOf(file: string): readonly string[] {
  const headings = proseOf(file).matchAll(/^#+ (.*)$/gm);
  return [...headings].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\- ]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function proseOf(file: string): string {
  return readFileSync(file, 'utf8').replace(/^ *```[^]*?^ *```$/gm, '');
}
