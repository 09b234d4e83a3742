import { controller, wish } from 'homeostat';
import { createHash } from 'node:crypto';
import { ConfigMap, Deployment, Ingress, Service, WebPage } from './models.ts';

export const webPageController = controller(WebPage, {
  owns: [ConfigMap, Deployment, Service, Ingress],
  async reconcile({ object, namespace, own, condition, status }) {
    const { html, exposed = false } = object.spec;
    if (!/<html[\s>].*<\/html>/is.test(html)) {
      // The ConfigMap stays unchanged, so the former page is still served.
      return condition('Ready', 'False', { reason: 'InvalidHtml', message: 'spec.html: an <html> element is missing' });
    }
    const { name } = object.metadata;
    const htmlConfigMap = `${name}-html`;
    const host = `${name}.${namespace}.example.com`;
    const metadata = { name };
    const checksum = createHash('sha256').update(html).digest('hex');
    const { ready } = await own([
      wish(ConfigMap, { metadata: { name: htmlConfigMap }, data: { 'index.html': html } }, { id: 'html' }),
      wish(
        Deployment,
        { metadata, spec: { configMap: htmlConfigMap, checksum } },
        { id: 'deployment', after: ['html'], ready: 'Ready' },
      ),
      wish(Service, { metadata, spec: { deployment: name } }),
      ...(exposed ? [wish(Ingress, { metadata, spec: { host, service: name } }, { after: ['deployment'] })] : []),
    ]);
    condition('Ready', ready ? 'True' : 'False', { reason: ready ? 'Served' : 'Starting' });
    await status({ htmlConfigMap, link: exposed ? `https://${host}/` : null });
  },
});
