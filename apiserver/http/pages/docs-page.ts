/**
 * The page at `/docs`: Swagger UI. All that it needs are separate files, so that nothing inline has to be allowed.
 * `root` is the relative path from the page to the server's root, since a proxy may add a prefix to the path.
 */
export const docsPage = (root: string): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Homeostat API</title>
    <link rel="icon" type="image/png" href="${root}docs/favicon-32x32.png">
    <link rel="stylesheet" href="${root}docs/swagger-ui.css">
  </head>
  <body>
    <div id="swagger-ui"></div>
    <script src="${root}docs/swagger-ui-bundle.js"></script>
    <script src="${root}docs/initializer.js"></script>
  </body>
</html>
`;

/** More kinds than this stay folded: a page of thousands of operations is useless. */
const maxUnfolded = 20;

/**
 * Starts Swagger UI. The kinds of plugins and definitions come first, unfolded. The kinds that every server has come
 * last, folded: those in the service's domain, and those whose tags are in `builtIn`. The filter finds tags and paths,
 * in any case.
 */
export function docsInitializer({ serviceDomain, builtIn }: DocsKinds): string {
  // validatorUrl: Swagger UI would otherwise send documents to another server for validation.
  return `const builtIn = new Set(${JSON.stringify(builtIn)});
const isOwn = (tag) => !builtIn.has(tag) && !/[ (.]${serviceDomain.replaceAll('.', '\\.')}\\//.test(tag);
const isFound = (text, phrase) => text.toLowerCase().includes(phrase.toLowerCase());
const opsFilter = (tags, phrase) =>
  tags.filter((tag, name) => isFound(name, phrase) || tag.get('operations').some((each) => isFound(each.get('path'), phrase)));
const ui = SwaggerUIBundle({
  url: new URL('../openapi.json', document.currentScript.src).href,
  dom_id: '#swagger-ui',
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  docExpansion: 'none',
  filter: true,
  tagsSorter: (a, b) => isOwn(b) - isOwn(a) || a.localeCompare(b),
  plugins: [() => ({ fn: { opsFilter } })],
  onComplete: () => {
    const tags = ui.specSelectors.tags().map((tag) => tag.get('name')).filter(isOwn);
    if (tags.size <= ${maxUnfolded}) tags.forEach((tag) => void ui.layoutActions.show(['operations-tag', tag], true));
  },
  validatorUrl: null,
});
`;
}

/** The data by which the page distinguishes the kinds of every server from those of plugins and definitions. */
export interface DocsKinds {
  readonly serviceDomain: string;
  /** The tags of the kinds of every server that are not in the service's domain. */
  readonly builtIn: readonly string[];
}

/**
 * The content security policy of the page. Swagger UI sets styles by script, which needs no permission. Its icons are
 * images in its style sheet, so `data:` is allowed.
 */
export const docsPolicy: string = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');
