"""What a user of openapi-python-client writes. The test checks its types and runs it."""

import json
import os
import time
import uuid

import httpx
from client import AuthenticatedClient
from client.api.connections import create_connection
from client.api.deliveries import list_deliveries
from client.api.destinations import create_destination
from client.api.events import get_event, get_event_timeline, replay_event
from client.api.sources import create_source, delete_source, get_source, update_source
from client.models import (
    BadRequestError,
    Connection,
    ConnectionCreate,
    Delivery,
    DeliveryList,
    DeliveryStatus,
    Destination,
    DestinationCreate,
    Event,
    Filter,
    HmacVerifier,
    NotFoundError,
    NoVerifier,
    PresetVerifier,
    Replay,
    Source,
    SourceChanges,
    SourceCreate,
    SourceUpdate,
    Timeline,
)

api = AuthenticatedClient(base_url=os.environ["POSTERN_URL"], token=os.environ["POSTERN_KEY"])
url = os.environ["DESTINATION_URL"]


def until(source_id: str, status: DeliveryStatus, count: int) -> list[Delivery]:
    while True:
        page = list_deliveries.sync(client=api, source_id=source_id, status=status, limit=10)
        assert isinstance(page, DeliveryList), page
        if len(page.data) >= count:
            return page.data
        time.sleep(0.1)


source = create_source.sync(
    client=api,
    body=SourceCreate(
        name="stripe by Python",
        verifier=PresetVerifier(preset="stripe", secret="whsec_example"),
        event_type_field="body.type",
    ),
)
assert isinstance(source, Source), source
assert isinstance(source.verifier, HmacVerifier), source.verifier
assert source.verifier.preset == "stripe"

destination = create_destination.sync(
    client=api,
    body=DestinationCreate(name="shop by Python", url=url),
    idempotency_key=str(uuid.uuid4()),
)
assert isinstance(destination, Destination), destination
connection = create_connection.sync(
    client=api,
    body=ConnectionCreate(
        name="paid by Python",
        source_id=source.id,
        destination_id=destination.id,
        filter_=Filter(event_types=["invoice.*"], body={"amount": {"$gte": 10}}),
    ),
)
assert isinstance(connection, Connection), connection

change = SourceUpdate(data=SourceChanges(verifier=None))
patched = update_source.sync(source.id, client=api, body=change)
assert isinstance(patched, Source) and isinstance(patched.verifier, NoVerifier), patched

sent = httpx.post(
    source.ingest_url,
    content=json.dumps({"type": "invoice.paid", "amount": 12}),
    headers={"content-type": "application/json"},
)
assert sent.status_code == 200, sent.text

[delivery] = until(source.id, DeliveryStatus.SUCCEEDED, 1)
assert delivery.event_id is not None
event = get_event.sync(delivery.event_id, client=api)
assert isinstance(event, Event) and event.event_type == "invoice.paid", event
timeline = get_event_timeline.sync(delivery.event_id, client=api)
assert isinstance(timeline, Timeline), timeline
assert timeline.verdict.cause.value == "delivered"
assert timeline.deliveries[0].attempts[0].response_status == 200
replay = replay_event.sync(delivery.event_id, client=api)
assert isinstance(replay, Replay) and len(replay.deliveries) == 1, replay
until(source.id, DeliveryStatus.SUCCEEDED, 2)

missing = get_source.sync_detailed("src_01jcqhrpsefh09tekf3cp3tkjz", client=api)
assert missing.status_code == 404
assert isinstance(missing.parsed, NotFoundError) and missing.parsed.code == "NOT_FOUND"
wrong = create_destination.sync(client=api, body=DestinationCreate(name="", url=url))
assert isinstance(wrong, BadRequestError), wrong
assert wrong.data.fields[0].path == "body.name"

gone = delete_source.sync_detailed(source.id, client=api, cascade=True)
assert gone.status_code == 204, gone
