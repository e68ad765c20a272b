// What a user of oapi-codegen writes. The test compiles and runs it.
package main

import (
	"bytes"
	"context"
	"log"
	"net/http"
	"os"
	"time"

	"client/postern"
)

var ctx = context.Background()

func main() {
	key := func(_ context.Context, request *http.Request) error {
		request.Header.Set("authorization", "Bearer "+os.Getenv("POSTERN_KEY"))
		return nil
	}
	api, err := postern.NewClientWithResponses(os.Getenv("POSTERN_URL"), postern.WithRequestEditorFn(key))
	check(err)
	url := os.Getenv("DESTINATION_URL")

	var verifier postern.VerifierInput
	secret, eventType := "whsec_example", "body.type"
	check(verifier.FromPresetVerifier(postern.PresetVerifier{Preset: "stripe", Secret: &secret}))
	made, err := api.CreateSourceWithResponse(ctx, nil, postern.SourceCreate{
		Name: "stripe by Go", Verifier: &verifier, EventTypeField: &eventType,
	})
	check(err)
	expect(made.JSON201 != nil, string(made.Body))
	source := made.JSON201
	shown, err := source.Verifier.ValueByDiscriminator()
	check(err)
	hmac, isHmac := shown.(postern.HmacVerifier)
	expect(isHmac && *hmac.Preset == "stripe", "the verifier is that of Stripe")

	once := "go-" + time.Now().Format("150405.000000")
	to, err := api.CreateDestinationWithResponse(ctx,
		&postern.CreateDestinationParams{IdempotencyKey: &once},
		postern.DestinationCreate{Name: "shop by Go", Url: url})
	check(err)
	expect(to.JSON201 != nil, string(to.Body))
	types := []string{"invoice.*"}
	by, err := api.CreateConnectionWithResponse(ctx, nil, postern.ConnectionCreate{
		Name: "paid by Go", SourceId: source.Id, DestinationId: to.JSON201.Id,
		Filter: &postern.Filter{EventTypes: &types, Body: map[string]any{"amount": map[string]any{"$gte": 10}}},
	})
	check(err)
	expect(by.JSON201 != nil, string(by.Body))

	var open postern.VerifierConfigInput
	check(open.FromNoVerifier(postern.NoVerifier{}))
	var none postern.VerifierInput
	check(none.FromVerifierConfigInput(open))
	patched, err := api.UpdateSourceWithResponse(ctx, source.Id, nil,
		postern.SourceUpdate{Data: postern.SourceChanges{Verifier: &none}})
	check(err)
	expect(patched.JSON200 != nil, string(patched.Body))
	kind, err := patched.JSON200.Verifier.Discriminator()
	check(err)
	expect(kind == "none", kind)

	body := []byte(`{"type":"invoice.paid","amount":12}`)
	sent, err := http.Post(source.IngestUrl, "application/json", bytes.NewReader(body))
	check(err)
	expect(sent.StatusCode == 200, sent.Status)

	deliveries := until(api, source.Id, 1)
	eventID := *deliveries[0].EventId
	event, err := api.GetEventWithResponse(ctx, eventID, nil)
	check(err)
	expect(event.JSON200 != nil && *event.JSON200.EventType == "invoice.paid", string(event.Body))
	timeline, err := api.GetEventTimelineWithResponse(ctx, eventID, nil)
	check(err)
	expect(timeline.JSON200 != nil, string(timeline.Body))
	expect(string(timeline.JSON200.Verdict.Cause) == "delivered", string(timeline.Body))
	expect(*timeline.JSON200.Deliveries[0].Attempts[0].ResponseStatus == 200, string(timeline.Body))
	replay, err := api.ReplayEventWithResponse(ctx, eventID, nil, postern.NoMembers{})
	check(err)
	expect(replay.JSON202 != nil && len(replay.JSON202.Deliveries) == 1, string(replay.Body))
	until(api, source.Id, 2)

	missing, err := api.GetSourceWithResponse(ctx, "src_01jcqhrpsefh09tekf3cp3tkjz", nil)
	check(err)
	expect(missing.JSON404 != nil && missing.JSON404.Code == "NOT_FOUND", string(missing.Body))
	wrong, err := api.CreateConnectionWithResponse(ctx, nil, postern.ConnectionCreate{
		Name: "", SourceId: source.Id, DestinationId: to.JSON201.Id,
	})
	check(err)
	expect(wrong.JSON400 != nil && wrong.JSON400.Data.Fields[0].Path == "body.name", string(wrong.Body))

	cascade := true
	gone, err := api.DeleteSourceWithResponse(ctx, source.Id, &postern.DeleteSourceParams{Cascade: &cascade})
	check(err)
	expect(gone.StatusCode() == 204, string(gone.Body))
}

func until(api *postern.ClientWithResponses, sourceID string, count int) []postern.Delivery {
	for {
		status, limit := postern.DeliveryStatus("succeeded"), 10
		page, err := api.ListDeliveriesWithResponse(ctx, &postern.ListDeliveriesParams{
			SourceId: &sourceID, Status: &status, Limit: &limit,
		})
		check(err)
		expect(page.JSON200 != nil, string(page.Body))
		if len(page.JSON200.Data) >= count {
			return page.JSON200.Data
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func expect(holds bool, otherwise string) {
	if !holds {
		log.Fatal(otherwise)
	}
}
