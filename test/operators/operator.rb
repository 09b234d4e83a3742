# A small operator on kubeclient: it leads by a Lease, and makes a ConfigMap of each Widget.
require 'kubeclient'
require 'time'

url, webhook_url, ca_bundle = ARGV
FINALIZER = 'shop.example.com/ruby'.freeze
core = Kubeclient::Client.new("#{url}/api", 'v1')
widgets = Kubeclient::Client.new("#{url}/apis/shop.example.com", 'v1')
leases = Kubeclient::Client.new("#{url}/apis/coordination.k8s.io", 'v1')
admission = Kubeclient::Client.new("#{url}/apis/admissionregistration.k8s.io", 'v1')

now = Time.now.utc.iso8601(6)
lease = leases.create_lease(Kubeclient::Resource.new(
  metadata: { name: 'ruby-operator', namespace: 'default' },
  spec: { holderIdentity: 'ruby', leaseDurationSeconds: 15, acquireTime: now, renewTime: now }
))
lease.spec.renewTime = Time.now.utc.iso8601(6)
leases.update_lease(lease)

rules = [{ operations: ['CREATE'], apiGroups: ['shop.example.com'], apiVersions: ['*'], resources: ['widgets'] }]
admission.create_validating_webhook_configuration(Kubeclient::Resource.new(
  metadata: { name: 'ruby' },
  webhooks: [{ name: 'widgets.ruby.example.com', clientConfig: { url: webhook_url, caBundle: ca_bundle },
               rules: rules, sideEffects: 'None', admissionReviewVersions: ['v1'] }]
))

reconcile = lambda do |widget|
  name = widget.metadata.name
  finalizers = (widget.metadata.finalizers || []).to_a
  if widget.metadata.deletionTimestamp
    if finalizers.include?(FINALIZER)
      core.delete_config_map("#{name}-ruby", 'default')
      widgets.merge_patch_widget(name, metadata: { finalizers: finalizers - [FINALIZER] })
    end
  elsif !finalizers.include?(FINALIZER)
    widgets.merge_patch_widget(name, metadata: { finalizers: finalizers + [FINALIZER] })
  elsif widget.status.nil? || widget.status.phase != 'Ready'
    core.apply_config_map(
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: "#{name}-ruby", namespace: 'default' },
        data: { size: widget.spec[:size].to_s } },
      field_manager: 'ruby-operator'
    )
    core.create_event(Kubeclient::Resource.new(
      metadata: { generateName: 'ruby-', namespace: 'default' }, reason: 'Made', message: 'made', type: 'Normal',
      involvedObject: { apiVersion: 'shop.example.com/v1', kind: 'Widget', name: name, uid: widget.metadata.uid }
    ))
    # This client has no status subresource, so the path is written by hand.
    widgets.rest_client["widgets/#{name}/status"].patch(
      { status: { phase: 'Ready' } }.to_json, 'Content-Type' => 'application/merge-patch+json'
    )
  end
end

puts 'leading'
$stdout.flush
widgets.watch_widgets { |notice| reconcile.call(notice.object) if notice.type != 'DELETED' }
