"""A small operator on the Python client: it leads by a Lease, and makes a ConfigMap of each Widget."""
import datetime
import json
import sys

from kubernetes import client, dynamic, watch

url, webhook_url, ca_bundle = sys.argv[1:4]
GROUP, VERSION, PLURAL = "shop.example.com", "v1", "widgets"
FINALIZER = "shop.example.com/python"
api = client.ApiClient(client.Configuration(host=url))
core = client.CoreV1Api(api)
custom = client.CustomObjectsApi(api)
leases = client.CoordinationV1Api(api)
admission = client.AdmissionregistrationV1Api(api)


def lead():
    now = datetime.datetime.now(datetime.timezone.utc)
    spec = client.V1LeaseSpec(holder_identity="python", lease_duration_seconds=15, acquire_time=now, renew_time=now)
    lease = client.V1Lease(metadata=client.V1ObjectMeta(name="python-operator"), spec=spec)
    held = leases.create_namespaced_lease("default", lease)
    held.spec.renew_time = datetime.datetime.now(datetime.timezone.utc)
    leases.replace_namespaced_lease("python-operator", "default", held)


def install_webhook():
    rule = client.V1RuleWithOperations(
        operations=["CREATE"], api_groups=[GROUP], api_versions=["*"], resources=[PLURAL])
    hook = client.V1ValidatingWebhook(
        name="widgets.python.example.com", side_effects="None", admission_review_versions=["v1"], rules=[rule],
        client_config=client.AdmissionregistrationV1WebhookClientConfig(url=webhook_url, ca_bundle=ca_bundle))
    admission.create_validating_webhook_configuration(client.V1ValidatingWebhookConfiguration(
        metadata=client.V1ObjectMeta(name="python"), webhooks=[hook]))


def apply(widget):
    """Server-side apply, which this client has in its dynamic part. It sends a body of this type as it is: as text."""
    maps = dynamic.DynamicClient(api).resources.get(api_version="v1", kind="ConfigMap")
    name = widget["metadata"]["name"] + "-python"
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"size": str(widget["spec"]["size"])}}
    maps.server_side_apply(
        body=json.dumps(body), name=name, namespace="default", field_manager="python-operator", force_conflicts=True)


def record(widget):
    meta = widget["metadata"]
    reference = client.V1ObjectReference(
        api_version=GROUP + "/" + VERSION, kind="Widget", name=meta["name"], uid=meta["uid"])
    now = datetime.datetime.now(datetime.timezone.utc)
    core.create_namespaced_event("default", client.CoreV1Event(
        metadata=client.V1ObjectMeta(generate_name="python-"), involved_object=reference, reason="Made", message="made",
        type="Normal", first_timestamp=now, last_timestamp=now, count=1))


def reconcile(widget):
    meta = widget["metadata"]
    name, finalizers = meta["name"], meta.get("finalizers", [])
    if "deletionTimestamp" in meta:
        if FINALIZER in finalizers:
            core.delete_namespaced_config_map(name + "-python", "default")
            rest = [each for each in finalizers if each != FINALIZER]
            custom.patch_cluster_custom_object(GROUP, VERSION, PLURAL, name, {"metadata": {"finalizers": rest}})
        return
    if FINALIZER not in finalizers:
        custom.patch_cluster_custom_object(
            GROUP, VERSION, PLURAL, name, {"metadata": {"finalizers": finalizers + [FINALIZER]}})
        return
    if widget.get("status", {}).get("phase") != "Ready":
        apply(widget)
        record(widget)
        custom.patch_cluster_custom_object_status(GROUP, VERSION, PLURAL, name, {"status": {"phase": "Ready"}})


lead()
install_webhook()
print("leading", flush=True)
for event in watch.Watch().stream(custom.list_cluster_custom_object, GROUP, VERSION, PLURAL):
    reconcile(event["object"])
